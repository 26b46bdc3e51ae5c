// Who hears whom in each round, with which weight: the matrices of gossamer.networks.
"use strict";
(living => {
  const range = n => Array.from({ length: n }, (_, i) => i);
  const mod = (i, n) => ((i % n) + n) % n;

  // W with w_ij = 1/(1 + max(d_i, d_j)) on the edges i—j, and what is left of 1 on w_ii.
  function metropolis(n, pairs) {
    const linked = range(n).map(() => new Set());
    for (const [i, j] of pairs) if (i !== j) linked[i].add(j) && linked[j].add(i);
    const degree = linked.map(neighbours => neighbours.size);
    return withRest(n, (i, j) => linked[i].has(j) ? 1 / (1 + Math.max(degree[i], degree[j])) : 0);
  }

  // Node i hears i − s (mod n) with `weight` for every shift s.
  function circulant(n, shifts, weight) {
    const heard = new Set(shifts.map(s => mod(s, n)));
    return withRest(n, (i, j) => heard.has(mod(i - j, n)) ? weight : 0);
  }

  function withRest(n, weight) {
    const W = range(n).map(i => range(n).map(j => i === j ? 0 : weight(i, j)));
    W.forEach((row, i) => { row[i] = 1 - row.reduce((a, b) => a + b, 0); });
    return W;
  }

  const powers = n => range(32).map(k => 2 ** k).filter(s => s < n);

  // The most square grid of n nodes, e.g. 3 × 4.
  function grid(n) {
    let rows = Math.floor(Math.sqrt(n));
    while (n % rows) rows -= 1;
    return { rows, cols: n / rows };
  }

  function torusPairs(n) {
    const { rows, cols } = grid(n), node = (r, c) => mod(r, rows) * cols + mod(c, cols);
    return range(n).flatMap(i => {
      const r = Math.floor(i / cols), c = i % cols;
      return [[i, node(r + 1, c)], [i, node(r, c + 1)]];
    });
  }

  // Name → how it is written in Python, what people call it, and the matrices of its rounds.
  const networks = {
    ring: {
      title: "ring", call: n => `ring(${n})`,
      rounds: n => [metropolis(n, range(n).map(i => [i, mod(i + 1, n)]))],
    },
    line: {
      title: "line", call: n => `line(${n})`,
      rounds: n => [metropolis(n, range(n - 1).map(i => [i, i + 1]))],
    },
    star: {
      title: "star", call: n => `star(${n})`,
      rounds: n => [metropolis(n, range(n).map(i => [0, i]))],
    },
    torus: {
      title: "torus", call: n => `torus(${grid(n).rows}, ${grid(n).cols})`,
      rounds: n => [metropolis(n, torusPairs(n))],
    },
    exponential: {
      title: "exponential network", article: "an", call: n => `exponential(${n})`,
      rounds: n => [circulant(n, powers(n), 1 / (2 + powers(n).length))],
    },
    one_peer_exponential: {
      title: "one-peer exponential network", call: n => `one_peer_exponential(${n})`,
      rounds: n => powers(n).map(s => circulant(n, [s], 0.5)),
    },
    complete: {
      title: "complete network", call: n => `complete(${n})`,
      rounds: n => [circulant(n, range(n).slice(1), 1 / n)],
    },
  };

  // The links sender → receiver of all rounds, sorted by receiver and sender, with their weights.
  function links(rounds) {
    const n = rounds[0].length, found = [];
    for (const receiver of range(n)) for (const sender of range(n)) {
      const weights = rounds.map(W => W[receiver][sender]);
      const heard = receiver !== sender && weights.some(weight => weight > 0);
      if (heard) found.push({ receiver, sender, weights });
    }
    return found;
  }

  // A named network of n nodes; W_{t mod τ} mixes in step t.
  living.network = (name, n) => {
    const rounds = networks[name].rounds(n);
    return { name, n, rounds, links: links(rounds), call: networks[name].call(n) };
  };
  Object.assign(living, { networks, grid, range });
})(window.living ??= {});
