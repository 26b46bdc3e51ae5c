// Random numbers from a seed, and the laws of gossamer.noise with the formulas that it draws by.
"use strict";
(living => {
  // Uniform numbers in [0, 1) with 53 random bits, by Chris Doty-Humphrey's sfc32.
  living.uniforms = (purpose, seed) => {
    let a = 0x9e3779b9 ^ seed, b = Math.imul(purpose + 1, 0x85ebca6b), c = 0xc2b2ae35, d = 1;
    const next = () => {
      const t = (a + b + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + t) | 0;
      return t >>> 0;
    };
    for (let i = 0; i < 20; i++) next();
    return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
  };

  const exponential = u => -Math.log1p(-u);

  // The Chambers–Mallows–Stuck formula for S₁(α, β, 1), which has mean 0.
  function stable(alpha, beta, u, w) {
    const V = Math.PI / 2 * (1 - 2 ** -52) * (2 * u - 1);
    const B = Math.atan(beta * Math.tan(Math.PI * alpha / 2)), A = alpha * V + B;
    const cosGap = Math.max(Math.cos(V - A), 2 ** -52);
    const power = (exponential(w) * Math.cos(V) / cosGap) ** ((alpha - 1) / alpha);
    return Math.cos(B) ** (-1 / alpha) * Math.sin(A) / Math.cos(V) * power;
  }

  // Name → what people call it, how it is written in Python, and one number of scale 1 from two
  // uniform ones.
  living.noises = {
    none: { title: "no noise", call: () => "None", draw: () => 0 },
    gaussian: {
      title: "Gaussian noise", call: s => `gs.Gaussian(${s})`,
      draw: (u, w) => Math.cos(2 * Math.PI * u) * Math.sqrt(2 * exponential(w)),
    },
    student: {
      title: "Student-t noise", call: s => `gs.StudentT(1.5, scale=${s})`,
      draw: (u, w) => (
        Math.cos(2 * Math.PI * u) * Math.sqrt(1.5 * Math.expm1(2 / 1.5 * exponential(w)))),
    },
    stable: {
      title: "α-stable noise",
      call: s => `gs.AlphaStable(1.5, skewness=0.5, scale=${s})`,
      draw: (u, w) => stable(1.5, 0.5, u, w),
    },
  };
})(window.living ??= {});
