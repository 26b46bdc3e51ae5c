// How the nodes talk in one step, and what links that lose messages remember: gossamer's `drops`.
"use strict";
(living => {
  // The mix of step t. `arrived[e]` tells whether the message of link e arrives; `memory` holds
  // what is on its way on each link, for every total that a step pushes.
  living.Talk = class {
    constructor(network, t, arrived, memory) {
      const place = t % network.rounds.length;
      this.links = network.links.map(({ receiver, sender, weights }, e) => {
        const weight = weights[place];
        return { receiver, sender, weight, brings: weight > 0 && arrived[e] };
      });
      this.kept = network.rounds[place].map((row, i) => row[i]);
      this.memory = memory;
      this.pushed = 0;
    }

    // Opinions: one that did not arrive is replaced by one's own, so the weights sum to 1.
    pull(z) {
      const mixed = z.map(own => own.slice());
      for (const { receiver, sender, weight, brings } of this.links) {
        if (!brings) continue;
        z[sender].forEach((c, k) => { mixed[receiver][k] += weight * (c - z[receiver][k]); });
      }
      return mixed;
    }

    // Totals: what does not arrive waits on its link, f ← f + w z, so that nothing is lost.
    push(z) {
      const waiting = this.memory[this.pushed++] ??= this.links.map(() => z[0].map(() => 0));
      const mixed = z.map((own, i) => own.map(c => this.kept[i] * c));
      this.links.forEach(({ receiver, sender, weight, brings }, e) => z[sender].forEach((c, k) => {
        const load = waiting[e][k] + weight * c;
        if (brings) mixed[receiver][k] += load;
        waiting[e][k] = brings ? 0 : load;
      }));
      return mixed;
    }
  };
})(window.living ??= {});
