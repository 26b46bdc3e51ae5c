// What the picture says: its caption, a line about each method, and the same run in Python.
"use strict";
(living => {
  const digits = living.digits = value => {
    if (!Number.isFinite(value)) return "∞";
    if (value >= 1e4) return value.toExponential(0);
    return value >= 100 ? value.toFixed(0) : Number(value.toPrecision(2)).toString();
  };

  const lost = {
    0.05: "one message in twenty", 0.1: "one message in ten", 0.2: "one message in five",
    0.3: "three messages in ten", 0.5: "every other message",
  };

  // One sentence that is true of this very run.
  living.caption = ({ choices: { network, n, noise, loss, picks }, runs }) => {
    const { title, article = "a" } = living.networks[network];
    const weather = living.noises[noise].title + (loss ? ` and ${lost[loss]} lost` : "");
    const found = outcome(names(picks), runs.map(living.typicalError));
    return `${n} nodes on ${article} ${title}, ${weather}: ${found}.`;
  };

  // Two runs of one method differ in a number, if in anything.
  function names(picks) {
    const labels = picks.map(({ method }) => living.methods[method].label);
    if (labels[0] !== labels[1]) return labels;
    const [one, other] = picks.map(({ settings }) => settings);
    const number = Object.keys(one).find(name => one[name] !== other[name]) ?? "lr";
    const symbol = living.settings[number].at(-1);
    return picks.map(({ settings }, r) => `${labels[r]} with ${symbol} = ${settings[number]}`);
  }

  function outcome([one, other], [a, b]) {
    const apart = [a, b].map(error => !(error < 1e3));
    if (apart[0] && apart[1]) return "with these steps both methods fly apart";
    if (apart[0]) return `with this step ${one} flies apart`;
    const verb = a < b && a < 0.5 ? "gather" : "end";
    const end = `the nodes of ${one} ${verb} ${digits(a)} from the optimum on average`;
    if (apart[1]) return `${end}, and with its step ${other} flies apart`;
    if (a > 1.15 * b) return `${end}, those of ${other} only ${digits(b)}`;
    const times = b > 99 * a ? "over a hundred" : digits(b / a);
    return `${end}, those of ${other} ${b > 1.15 * a ? `${times} times` : "about"} as far`;
  }

  // What a method does with a huge gradient.
  living.says = {
    DSGD: "Takes every gradient as it is: a huge one throws its node, and then the neighbours.",
    DSGDGClip: "Shortens gradients longer than τ; nodes that differ still pull apart.",
    NormalizedDSGD: "Makes all gradients equally long before they are averaged: where nodes "
      + "differ, they cancel in the wrong place.",
    GTDSGD: "Tracks the average gradient: differences cancel, but a huge gradient reaches all.",
    GTClip: "Tracks the average of clipped gradients: good if you know the right τ.",
    GTNSGDm: "Tracks the average gradient, then takes a step of length α, however large it is.",
    GTSignSGDm: "Tracks the average gradient, then moves each coordinate by α, however large it is.",
  };
  living.settings = { lr: "step size α", momentum: "momentum β", clip: "clip level τ" };

  const percent = share => `${Math.round(100 * share)} %`;
  living.valueText = { loss: percent, speed: value => `${value} steps/s` };

  const tensor = numbers =>
    `torch.tensor(${JSON.stringify(numbers).replaceAll(",", ", ")}, dtype=torch.float64)`;

  // Python that makes the same problem and network, noise of the same law, and the first method.
  living.python = ({ choices, network, problem }) => {
    const { picks: [{ method, settings }], loss, noise, level, steps } = choices;
    const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`).join(", ");
    return `import torch
import gossamer as gs

centers = ${tensor(problem.centers)}
curvatures = ${tensor(problem.curvatures)}
start = ${tensor(problem.start)}

run = gs.simulate(
    gs.${method}(${given}),
    gs.Quadratic.from_centers(centers, curvatures, start=start),
    gs.${network.call}${loss ? `.drops(${loss})` : ""},
    noise=${living.noises[noise].call(level)},
    steps=${steps},
    seeds=range(10),
)
print(run.final("error").median())
`;
  };
})(window.living ??= {});
