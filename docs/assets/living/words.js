// What the picture says: its caption, a line about each method, and the same run in Python.
"use strict";
(living => {
  const capital = text => text[0].toUpperCase() + text.slice(1);
  const digits = value => value >= 100 ? value.toFixed(0) : Number(value.toPrecision(2)).toString();
  living.digits = value => Number.isFinite(value) ? (value >= 1e4 ? value.toExponential(0) : digits(value)) : "∞";

  const counts = { 0.05: "one message in twenty", 0.1: "one message in ten", 0.2: "one message in five",
    0.3: "three messages in ten", 0.5: "every other message" };

  // One sentence that is true of this very run.
  living.caption = ({ choices, runs }) => {
    const { network, n, noise, loss, picks } = choices;
    const labels = picks.map(({ method }) => living.methods[method].label);
    const article = /^[aeo]/.test(living.networks[network].title) && network !== "one_peer_exponential" ? "an" : "a";
    const place = `${n} nodes on ${article} ${living.networks[network].title}`;
    const weather = living.noises[noise].title + (loss ? ` and ${counts[loss]} lost` : "");
    return `${capital(place)}, ${weather}: ${outcome(labels, runs)}.`;
  };

  function outcome([one, other], runs) {
    const [a, b] = runs.map(living.typicalError);
    if (!(a < 1e3) && !(b < 1e3)) return "with these steps neither method stays near the optimum";
    if (!(a < 1e3)) return `with this step ${one} flies apart`;
    if (!(b < 1e3)) return `${one} ends ${digits(a)} from the optimum, and ${other} flies apart with its step`;
    const ratio = a < b ? b / a : a / b;
    const far = `${digits(a)} from the optimum on average`;
    if (ratio < 1.15) return `the nodes of ${one} end ${far}, and those of ${other} as far`;
    const times = ratio < 1.95 ? `${Math.round(100 * (ratio - 1))} % ` : ratio > 99 ? "over a hundred times " : `${digits(ratio)} times `;
    const verb = a < b ? "gather" : "end";
    return `the nodes of ${one} ${verb} ${far}, ${a < b ? `those of ${other} ${times}farther` : `those of ${other} ${times}closer`}`;
  }

  // What a method does with a wild gradient.
  living.says = {
    DSGD: "Takes every gradient as it is: a wild one throws its node, and the neighbours after it.",
    DSGDGClip: "Shortens gradients longer than τ; nodes that differ still pull apart.",
    NormalizedDSGD: "Makes all gradients equally long, then averages: where nodes differ, they cancel in the wrong place.",
    GTDSGD: "Tracks the average gradient, so that differences cancel; a wild one reaches everybody.",
    GTClip: "Tracks the average of clipped gradients: good with the right τ, which one has to know.",
    GTNSGDm: "Tracks the average gradient first, then takes a step of length α, however wild the gradient.",
    GTSignSGDm: "Tracks the average gradient first, then moves every coordinate by α, however wild the gradient.",
  };
  living.symbols = { lr: ["α", "step size"], momentum: ["β", "momentum"], clip: ["τ", "clipping level"] };

  const tensor = rows => `torch.tensor(${JSON.stringify(rows).replaceAll(",", ", ")}, dtype=torch.float64)`;

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
