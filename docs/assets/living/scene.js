// All that follows from the choices: the network, what chance does, and two runs that meet it.
"use strict";
(living => {
  // What the sliders step through.
  living.scales = {
    n: [6, 8, 12, 16, 20],
    loss: [0, 0.05, 0.1, 0.2, 0.3, 0.5],
    level: [0.1, 0.2, 0.3, 0.5, 0.8, 1, 1.5, 2],
    lr: [0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5],
    momentum: [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95],
    clip: [0.5, 1, 2, 4, 8, 16],
    speed: [1, 2, 4, 8, 12, 16, 32, 64],
  };

  living.pick = (method, settings = {}) => (
    { method, settings: { ...living.methods[method].settings, ...settings } });

  // Those of the first picture, but for the given ones; changes to them leave those alone.
  living.choices = (given = {}) => structuredClone({
    network: "ring", n: 16, loss: 0.1, noise: "student", level: 0.5, steps: 400, seed: 1,
    picks: [living.pick("GTNSGDm"), living.pick("DSGD")], ...given,
  });

  living.scene = choices => {
    const network = living.network(choices.network, choices.n);
    const problem = living.problem(choices.n), average = living.average(problem);
    const chance = living.chance({ ...choices, network }), { arrived } = chance;
    const noise = chance.noise.map(step => step.map(v => v.map(c => c * choices.level)));
    const runs = choices.picks.map(pick => {
      const path = living.run({ ...choices, ...pick, network, problem, noise, arrived });
      return { path, errors: living.errors(path, average.optimum) };
    });
    const spikes = chance.noise.map(step => step.map(living.norm)); // in units of the scale
    return { choices, network, problem, average, runs, arrived, spikes };
  };

  // The points of a run between two steps.
  living.pointsAt = ({ path }, t, phase) => {
    const next = path[Math.min(t + 1, path.length - 1)];
    return path[t].map((v, i) => v.map((c, k) => c + phase * (next[i][k] - c)));
  };

  // The error at the end: the median over the last quarter of the steps.
  living.typicalError = ({ errors }) => {
    const last = errors.slice(-Math.ceil(errors.length / 4));
    const sorted = last.map(e => Number.isNaN(e) ? Infinity : e).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)];
  };
})(window.living ??= {});
