// The controls and the frames of the figures, as HTML; every control has a label.
"use strict";
(living => {
  const titles = table =>
    Object.entries(table).map(([name, { title, label }]) => [name, title ?? label]);
  const option = ([name, text]) => `<option value="${name}">${text}</option>`;

  const select = (id, text, pairs) => `<label class="select"><span>${text}</span>
    <select id="${id}">${pairs.map(option).join("")}</select></label>`;
  const slider = (id, text) => `<label class="slider" id="${id}-row"><span>${text}</span>
    <input type="range" id="${id}" min="0" step="1">
    <b id="${id}-value" aria-hidden="true"></b></label>`;
  const button = (id, text, title) =>
    `<button type="button" id="${id}" title="${title}">${text}</button>`;
  const figure = (id, title, below) => `<figure class="${id}"><figcaption>${title}</figcaption>
    <svg id="${id}" role="img"></svg>${below}</figure>`;

  // A method, its colour, its error now, and its numbers.
  const pick = (r, who) => `<fieldset class="pick pick-${r}"><legend class="hidden">${who}</legend>
    <div class="who"><i class="swatch"></i>
      ${select(`method-${r}`, `<b class="hidden">${who}</b>`, titles(living.methods))}
      <span class="error">error <b id="error-${r}"></b></span></div>
    ${Object.entries(living.settings).map(([name, text]) => slider(`${name}-${r}`, text)).join("")}
    <p id="says-${r}"></p></fieldset>`;

  const stories = () => `<div class="stories" role="group" aria-label="Examples"><span>show</span>
    ${Object.keys(living.stories).map(name => `<button type="button">${name}</button>`).join("")}
    </div>`;

  const transport = `<div class="transport" role="group" aria-label="Time">
    ${button("play", "Play", "Let time run, or stop it")}
    ${button("step", "Step", "One step further")}
    ${button("restart", "Restart", "Back to the start")}
    ${button("reseed", "New noise", "Other random numbers")}
    ${slider("speed", "speed")}</div>`;

  const key = `<p class="key"><i class="dot"></i> message <i class="cross"></i> lost
    <i class="flash"></i> huge gradient<br>
    <i class="stick"></i> the node’s model, seen from the optimum</p>`;

  living.html = () => `${stories()}<p class="caption" id="caption" role="status"></p>
    <div class="picks">${pick(0, "Method")}${pick(1, "Compared with")}</div>
    ${transport}
    <div class="figures">
      ${figure("network", "Who talks to whom",
        key + select("network-name", "network", titles(living.networks))
        + slider("n", "nodes") + slider("loss", "messages lost"))}
      ${figure("plane", "Where each node’s model is",
        select("noise", "gradients with", titles(living.noises)) + slider("level", "noise level"))}
      ${figure("curve", "How far the nodes are from the optimum", slider("time", "step"))}
    </div>
    <details><summary>The same in Python</summary><pre><code id="python"></code></pre>
      ${button("copy", "Copy", "Copy the code")}</details>`;
})(window.living ??= {});
