// A run: n nodes, each with its own objective, for a number of steps; free of any drawing.
"use strict";
(living => {
  const { range, norm } = living;

  // f_i(x) = ½ Σ_k a_ik (x_k − c_ik)²: gs.Quadratic.from_centers(centers, curvatures, start=start).
  // Node i pulls towards its own centre, in the direction in which it stands on a circle; a quarter
  // of the nodes are far from all others.
  living.problem = n => {
    const draw = living.uniforms(0, n), round = value => Math.round(value * 100) / 100;
    const centers = range(n).map(i => {
      const angle = 2 * Math.PI * i / n - Math.PI / 2, far = Math.abs(i - 0.35 * n) < n / 8 + 0.1;
      const radius = (0.9 + 0.8 * draw()) * (far ? 4 : 1);
      return [round(radius * Math.cos(angle)), round(radius * Math.sin(angle))];
    });
    const curvatures = centers.map(c => c.map(() => round(2.5 ** -draw())));
    return { centers, curvatures, start: [-4, 2.5] };
  };

  living.gradient = ({ centers, curvatures }, x) => x.map(
    (point, i) => point.map((value, k) => curvatures[i][k] * (value - centers[i][k])));

  // x* with Σ_i a_ik (x_k − c_ik) = 0, and ā: f(x) = f* + ½ Σ_k ā_k (x_k − x*_k)².
  living.average = ({ centers, curvatures }) => {
    const sum = (of, k) => of.reduce((total, row) => total + row[k], 0);
    const pull = centers.map((c, i) => c.map((value, k) => curvatures[i][k] * value));
    const optimum = centers[0].map((_, k) => sum(pull, k) / sum(curvatures, k));
    return { optimum, curvature: centers[0].map((_, k) => sum(curvatures, k) / centers.length) };
  };

  // What chance does in a run: noise of scale 1, [step][node][coordinate], and which messages
  // arrive, [step][link]. Other methods meet the same numbers.
  living.chance = ({ noise, loss, network, steps, seed }) => {
    const uniform = living.uniforms(1, seed), coin = living.uniforms(2, seed);
    const number = () => living.noises[noise].draw(uniform(), uniform());
    return {
      noise: range(steps).map(() => range(network.n).map(() => [number(), number()])),
      arrived: range(steps).map(() => network.links.map(() => coin() >= loss)),
    };
  };

  // The points x of every step, [0 … steps][node][coordinate]. `noise` is added to the gradients.
  living.run = ({ problem, network, method, settings, steps, noise, arrived }) => {
    const { init, step } = living.methods[method], memory = [];
    let x = problem.centers.map(() => problem.start.slice()), state = init(x);
    const path = [x];
    for (let t = 0; t < steps; t++) {
      const mix = new living.Talk(network, t, arrived[t], memory);
      const exact = living.gradient(problem, x);
      const grad = exact.map((g, i) => g.map((value, k) => value + noise[t][i][k]));
      [x, state] = step(settings, x, grad, state, mix);
      path.push(x);
    }
    return path;
  };

  // (1/n) Σ ‖x_i − x*‖ at each step.
  living.errors = (path, optimum) => path.map(
    x => x.reduce((sum, v) => sum + norm(v.map((c, k) => c - optimum[k])), 0) / x.length);
})(window.living ??= {});
