// The methods, one step each, as in gossamer.algorithms: x, grad and states are [node][coordinate].
"use strict";
(living => {
  const each = (f, a, b = a, c = a) =>
    a.map((row, i) => row.map((value, k) => f(value, b[i][k], c[i][k])));
  const scaled = (z, factor) => z.map(v => {
    const scale = factor(norm(v));
    return v.map(c => scale * c);
  });
  const zeros = x => each(() => 0, x);
  const norm = living.norm = v => Math.hypot(...v);

  const minus = (x, scale, d) => each((a, b) => a - scale * b, x, d);
  const ema = (old, now, beta) => each((a, b) => beta * a + (1 - beta) * b, old, now);
  const changed = (y, now, old) => each((a, b, c) => a + b - c, y, now, old);
  const unit = y => scaled(y, size => size > 0 ? 1 / size : 0);
  const clipped = (g, tau) => scaled(g, size => Math.min(1, tau / size));

  // y follows the average of `now` over the network: yᵗ = W (yᵗ⁻¹ + now − before).
  const track = (state, now, mix) => mix.push(changed(state.y, now, state.v));
  const tracking = x => ({ v: zeros(x), y: zeros(x) });
  const stateless = () => ({});

  // vᵗ = β vᵗ⁻¹ + (1−β) gᵗ, yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹), xᵗ⁺¹ = W (xᵗ − α D(yᵗ)).
  const steepest = direction => ({ lr, momentum }, x, grad, state, mix) => {
    const v = ema(state.v, grad, momentum), y = track(state, v, mix);
    return [mix.pull(minus(x, lr, direction(y))), { v, y }];
  };

  // Name in Python → label, hyper-parameters, state before step 0, and (…, xᵗ) ↦ xᵗ⁺¹.
  living.methods = {
    DSGD: { // xᵗ⁺¹ = W (xᵗ − α gᵗ)
      label: "DSGD", settings: { lr: 0.015 }, init: stateless,
      step: ({ lr }, x, grad, state, mix) => [mix.pull(minus(x, lr, grad)), state],
    },
    DSGDGClip: { // xᵗ⁺¹ = W (xᵗ − α gᵗ min(1, τ/‖gᵗ‖))
      label: "DSGD-GClip", settings: { lr: 0.015, clip: 8 }, init: stateless,
      step: ({ lr, clip }, x, grad, state, mix) =>
        [mix.pull(minus(x, lr, clipped(grad, clip))), state],
    },
    NormalizedDSGD: { // xᵗ⁺¹ = W (xᵗ − α gᵗ/‖gᵗ‖)
      label: "Normalized DSGD", settings: { lr: 0.04 }, init: stateless,
      step: ({ lr }, x, grad, state, mix) => [mix.pull(minus(x, lr, unit(grad))), state],
    },
    GTDSGD: { // yᵗ = W (yᵗ⁻¹ + gᵗ − gᵗ⁻¹), xᵗ⁺¹ = W (xᵗ − α yᵗ)
      label: "GT-DSGD", settings: { lr: 0.03 }, init: tracking,
      step: ({ lr }, x, grad, state, mix) => {
        const y = track(state, grad, mix);
        return [mix.pull(minus(x, lr, y)), { v: grad, y }];
      },
    },
    GTClip: { // hᵗ = gᵗ min(1, τ/‖gᵗ‖), yᵗ = W (yᵗ⁻¹ + hᵗ − hᵗ⁻¹), xᵗ⁺¹ = W (xᵗ − α yᵗ)
      label: "GT-Clip", settings: { lr: 0.03, clip: 8 }, init: tracking,
      step: ({ lr, clip }, x, grad, state, mix) => {
        const h = clipped(grad, clip), y = track(state, h, mix);
        return [mix.pull(minus(x, lr, y)), { v: h, y }];
      },
    },
    GTNSGDm: { // D(y) = y/‖y‖
      label: "GT-NSGDm", settings: { lr: 0.04, momentum: 0.3 }, init: tracking,
      step: steepest(unit),
    },
    GTSignSGDm: { // D(y) = sign(y)
      label: "GT-SignSGDm", settings: { lr: 0.03, momentum: 0.3 }, init: tracking,
      step: steepest(y => each(c => Math.sign(c), y)),
    },
  };
})(window.living ??= {});
