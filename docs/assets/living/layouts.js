// Where the nodes of each network stand, in [−1, 1]² with y upwards, and the ways of its messages.
"use strict";
(living => {
  const { range, grid } = living;

  const circle = n => range(n).map(i => {
    const angle = 2 * Math.PI * i / n - Math.PI / 2; // as the nodes' own optima lie in the plane
    return [Math.cos(angle), Math.sin(angle)];
  });
  // A wave from left to right, the nodes equally far apart on it.
  const wave = n => {
    const fine = range(601).map(k => k / 300 - 1).map(x => [x, -0.6 * Math.sin(1.5 * Math.PI * x)]);
    const length = fine.map(() => 0);
    for (let k = 1; k < fine.length; k++) {
      length[k] = length[k - 1] + Math.hypot(fine[k][0] - fine[k - 1][0], fine[k][1] - fine[k - 1][1]);
    }
    return range(n).map(i => fine[length.findIndex(l => l >= length.at(-1) * i / (n - 1) - 1e-9)]);
  };
  const star = n => [[0, 0], ...circle(n - 1)];
  const lattice = n => {
    const { rows, cols } = grid(n), step = 2 / Math.max(rows, cols);
    return range(n).map(i => [
      step * (i % cols - (cols - 1) / 2), step * ((rows - 1) / 2 - Math.floor(i / cols))]);
  };

  const places = { ring: circle, line: wave, star, torus: lattice, exponential: circle,
    one_peer_exponential: circle, complete: circle };

  // The pieces of the way from a to b: one, or two where it leaves the grid of a torus on one side
  // and comes back on the other.
  function way(network, a, b) {
    if (network.name !== "torus") return [[a, b]];
    const { rows, cols } = grid(network.n), step = 2 / Math.max(rows, cols);
    const around = [cols, rows].map((count, k) => {
      const there = Math.round((b[k] - a[k]) / step);
      return Math.abs(there) > 1 ? -Math.sign(there) * step / 2 : 0;
    });
    if (!around[0] && !around[1]) return [[a, b]];
    return [[a, [a[0] + around[0], a[1] + around[1]]], [[b[0] - around[0], b[1] - around[1]], b]];
  }

  living.layout = network => {
    const nodes = places[network.name](network.n);
    return { nodes, ways: network.links.map(({ sender, receiver }) => way(network, nodes[sender], nodes[receiver])) };
  };

  // The point at the share `p` of a way.
  living.along = (pieces, p) => {
    const place = Math.min(p * pieces.length, pieces.length - 1e-9), [a, b] = pieces[Math.floor(place)];
    return a.map((c, k) => c + (place % 1) * (b[k] - c));
  };
})(window.living ??= {});
