// The controls and the frame of the figures, as HTML; every control has a name and says its value.
"use strict";
(living => {
  const percent = share => `${Math.round(100 * share)} %`;
  const titles = table => Object.entries(table).map(([name, { title, label }]) => [name, title ?? label]);
  const options = pairs => pairs.map(([name, text]) => `<option value="${name}">${text}</option>`).join("");

  const select = (id, text, pairs) =>
    `<label class="select"><span>${text}</span><select id="${id}">${options(pairs)}</select></label>`;
  const slider = (id, text) =>
    `<label class="slider" id="${id}-row"><span>${text}</span><input type="range" id="${id}" min="0" step="1"><output id="${id}-value"></output></label>`;
  const button = (id, text, title) => `<button type="button" id="${id}" title="${title}">${text}</button>`;

  const figure = (id, title, below) => `<figure class="${id}"><figcaption>${title}</figcaption>
    <svg id="${id}" role="img"></svg>${below}</figure>`;

  const pick = (r, who) => `<fieldset class="pick pick-${r}"><legend class="hidden">${who}</legend>
    <div class="who"><i class="swatch"></i>${select(`method-${r}`, `<b class="hidden">${who}</b>`, titles(living.methods))}
      <output class="error" id="error-${r}" title="average distance of its nodes from the optimum"></output></div>
    ${slider(`lr-${r}`, "step size α")}${slider(`momentum-${r}`, "momentum β")}${slider(`clip-${r}`, "clip level τ")}
    <p id="says-${r}"></p></fieldset>`;

  const key = `<p class="key"><i class="dot"></i> message <i class="cross"></i> lost
    <i class="flash"></i> wild gradient<br><i class="stick"></i> where the node’s model is, seen from the optimum</p>`;

  living.html = () => `<div class="picture">
    <p class="caption" id="caption" role="status"></p>
    <div class="picks">${pick(0, "Method")}${pick(1, "Compared with")}</div>
    <div class="transport" role="group" aria-label="Time">
      ${button("play", "Play", "Let time run, or stop it")}${button("step", "Step", "One step further")}
      ${button("restart", "Restart", "Back to the start")}${button("reseed", "New noise", "Other random numbers")}
      ${slider("speed", "speed")}
    </div>
    <div class="figures">
      ${figure("network", "Who talks to whom", key + select("network-name", "network", titles(living.networks))
        + slider("n", "nodes") + slider("loss", "messages lost"))}
      ${figure("plane", "Where each node’s model is", select("noise", "gradients with", titles(living.noises))
        + slider("level", "noise level"))}
      ${figure("curve", "How far the nodes are from the optimum", `<label class="slider" id="time-row"><span>step</span>
        <input type="range" id="time" min="0" step="1"><output id="time-value"></output></label>`)}
    </div>
    <details><summary>The same in Python</summary><pre><code id="python"></code></pre>${button("copy", "Copy", "Copy the code")}</details>
  </div>`;

  // How each slider shows its value.
  living.shown = {
    n: String, loss: percent, level: String, lr: String, momentum: String, clip: String,
    speed: value => `${value} steps/s`,
  };
})(window.living ??= {});
