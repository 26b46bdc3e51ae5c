// Everything that follows from the choices: the network, what chance does, and two runs that meet it.
"use strict";
(living => {
  const { range } = living;

  // What the sliders step through.
  living.scales = {
    n: [6, 8, 12, 16, 20],
    loss: [0, 0.05, 0.1, 0.2, 0.3, 0.5],
    level: [0.1, 0.2, 0.3, 0.5, 0.8, 1, 1.5, 2],
    lr: [0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5],
    momentum: [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95],
    clip: [0.5, 1, 2, 4, 8, 16],
  };

  const chosen = method => ({ method, settings: { ...living.methods[method].settings } });

  living.choices = () => ({
    network: "ring", n: 16, loss: 0.1, noise: "student", level: 0.5, steps: 400, seed: 1,
    picks: [chosen("GTNSGDm"), chosen("DSGD")],
  });

  living.scene = choices => {
    const network = living.network(choices.network, choices.n), problem = living.problem(choices.n);
    const average = living.average(problem), chance = living.chance({ ...choices, network });
    const noise = chance.noise.map(step => step.map(v => v.map(c => c * choices.level)));
    const runs = choices.picks.map(({ method, settings }) => {
      const path = living.run({ ...choices, network, problem, method, settings, noise, arrived: chance.arrived });
      return { method, path, errors: living.errors(path, average.optimum) };
    });
    return { choices, network, problem, average, runs, arrived: chance.arrived, spikes: sizes(chance.noise) };
  };

  // ‖ξ‖ of every step and node, in units of the noise's scale.
  const sizes = noise => noise.map(step => step.map(living.norm));

  // The points of a run between two steps, and their mean.
  living.pointsAt = (run, t, phase) => {
    const from = run.path[t], to = run.path[Math.min(t + 1, run.path.length - 1)];
    return from.map((v, i) => v.map((c, k) => c + phase * (to[i][k] - c)));
  };
  living.mean = points => points[0].map((_, k) => points.reduce((sum, v) => sum + v[k], 0) / points.length);

  // The typical error at the end: the median over the last quarter of the steps.
  living.typicalError = run => {
    const last = run.errors.slice(-Math.ceil(run.errors.length / 4)).map(e => Number.isNaN(e) ? Infinity : e);
    return last.sort((a, b) => a - b)[Math.floor(last.length / 2)];
  };

  living.rangeOf = (values, low, high) => {
    const finite = values.filter(v => Number.isFinite(v) && v > 0);
    return [Math.max(low, Math.min(...finite)), Math.min(high, Math.max(...finite))];
  };
  living.stepsOf = scene => range(scene.choices.steps + 1);
})(window.living ??= {});
