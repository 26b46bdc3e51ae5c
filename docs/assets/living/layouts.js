// Where the nodes of each network stand, in [−1, 1]² with y upwards, and the ways of messages.
"use strict";
(living => {
  const { range, grid } = living;

  // Node i stands in the direction in which its own optimum lies in the plane.
  const circle = n => range(n).map(i => {
    const angle = 2 * Math.PI * i / n - Math.PI / 2;
    return [Math.cos(angle), Math.sin(angle)];
  });

  const star = n => [[0, 0], ...circle(n - 1)];

  // A wave from left to right, the nodes equally far apart on it.
  const wave = n => {
    const fine = range(601).map(k => k / 300 - 1).map(x => [x, -0.6 * Math.sin(1.5 * Math.PI * x)]);
    const length = [0];
    fine.slice(1).forEach(([x, y], k) => {
      length.push(length[k] + Math.hypot(x - fine[k][0], y - fine[k][1]));
    });
    const place = i => length.findIndex(l => l >= length.at(-1) * i / (n - 1) - 1e-9);
    return range(n).map(i => fine[place(i)]);
  };

  const spacing = n => 2 / Math.max(grid(n).rows, grid(n).cols);
  const lattice = n => {
    const { rows, cols } = grid(n), step = spacing(n);
    return range(n).map(i => [
      step * (i % cols - (cols - 1) / 2), step * ((rows - 1) / 2 - Math.floor(i / cols))]);
  };

  const places = {
    ring: circle, line: wave, star, torus: lattice, exponential: circle,
    one_peer_exponential: circle, complete: circle,
  };

  // The pieces of the way from a to b: one, or two where it leaves the grid of a torus on one side
  // and comes back on the other.
  function way(network, a, b) {
    const step = spacing(network.n), apart = a.map((c, k) => Math.round((b[k] - c) / step));
    if (network.name !== "torus" || apart.every(d => Math.abs(d) <= 1)) return [[a, b]];
    const out = apart.map(d => -Math.sign(d) * step / 2);
    return [[a, a.map((c, k) => c + out[k])], [b.map((c, k) => c - out[k]), b]];
  }

  living.layout = network => {
    const nodes = places[network.name](network.n);
    const ways = network.links.map(link => way(network, nodes[link.sender], nodes[link.receiver]));
    return { nodes, ways };
  };

  // The point at the share p of a way.
  living.along = (pieces, p) => {
    const place = Math.min(p * pieces.length, pieces.length - 1e-9);
    const [a, b] = pieces[Math.floor(place)];
    return a.map((c, k) => c + (place % 1) * (b[k] - c));
  };
})(window.living ??= {});
