// Choices that show something, by what they are called; the rest is as in the first picture.
"use strict";
(living => {
  const { pick } = living;

  living.stories = {
    "heavy tails": {},
    "Gaussian noise": { noise: "gaussian", picks: [pick("GTDSGD"), pick("DSGD")] },
    "everybody hears everybody": { network: "complete" },
    "half the messages lost": { loss: 0.5 },
    "normalized too early": { noise: "none", picks: [pick("NormalizedDSGD"), pick("GTNSGDm")] },
    "clipped too low": { picks: [pick("GTClip", { lr: 0.1, clip: 1 }), pick("GTNSGDm")] },
  };
})(window.living ??= {});
