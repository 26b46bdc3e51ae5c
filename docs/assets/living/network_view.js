// The network: nodes, links, messages on their way, those that are lost, and spikes of noise.
"use strict";
(living => {
  const { set, pool, points } = living;
  const SPIKE = 6; // scales: what is drawn as a spike
  const LANE = 2.5; // pixels between the two directions of a link

  living.networkView = svg => {
    let scene, place, ways, radius, parts;

    function prepare(next) {
      scene = next;
      const { width, height } = living.fit(svg, 0.86), layout = living.layout(scene.network);
      radius = { 16: 9, 20: 8 }[scene.network.n] ?? 11;
      const half = Math.min(width, height) / 2 - radius - 16;
      const stretch = scene.network.name === "line" ? (width / 2 - radius - 10) / half : 1;
      place = ([x, y]) => [width / 2 + half * stretch * x, height / 2 - half * y];
      ways = layout.ways.map(way => way.map(piece => piece.map(place)));
      parts = living.groups(svg, "links", "flashes", "nodes", "needles", "messages", "lost");
      drawNodes(layout.nodes.map(place));
    }

    function drawNodes(where) {
      pool(parts.links, "polyline", ways.flat().length).forEach(
        (line, k) => set(line, { points: points(ways.flat()[k]) }));
      pool(parts.nodes, "circle", where.length).forEach(
        (node, i) => set(node, { cx: where[i][0], cy: where[i][1], r: radius }));
      scene.where = where;
    }

    // Which links are used in step t; the others of a network that changes are drawn faintly.
    const active = t => scene.network.links.map(({ weights }) => weights[t % weights.length] > 0);

    function draw(t, phase, lit) {
      [...parts.nodes.children].forEach((node, i) => node.classList.toggle("lit", i === lit));
      const used = active(t), last = t >= scene.choices.steps;
      let k = 0;
      ways.forEach((way, e) => way.forEach(() => parts.links.children[k++].classList.toggle("idle", !used[e])));
      drawMessages(t, phase, last ? used.map(() => false) : used);
      drawFlashes(t, last ? 1 : phase);
      drawNeedles(t, phase);
    }

    function drawMessages(t, phase, used) {
      const going = used.flatMap((on, e) => on && phase > 0 ? [e] : []), arrived = scene.arrived[t];
      const lost = going.filter(e => !arrived[e]), coming = going.filter(e => arrived[e]);
      const size = going.length > 150 ? 1.6 : 2.6;
      pool(parts.messages, "circle", coming.length).forEach((dot, m) => {
        const [cx, cy] = onLane(ways[coming[m]], phase);
        set(dot, { cx, cy, r: size });
      });
      pool(parts.lost, "path", lost.length).forEach((mark, m) => {
        const [x, y] = onLane(ways[lost[m]], Math.min(phase, 0.5)), s = size + 1.2, whole = phase < 0.5;
        const cross = `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`;
        set(mark, { d: whole ? `M${x} ${y}h0` : cross, class: whole ? "whole" : "", opacity: whole ? 1 : 2 * (1 - phase),
          "stroke-width": whole ? 2 * size : 2 });
      });
    }

    // To the right of the line, so that messages both ways pass each other.
    function onLane(way, p) {
      const [[a, b]] = way, length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
      const [x, y] = living.along(way, p);
      return [x - LANE * (b[1] - a[1]) / length, y + LANE * (b[0] - a[0]) / length];
    }

    function drawFlashes(t, phase) {
      const sizes = scene.spikes[Math.min(t, scene.spikes.length - 1)];
      pool(parts.flashes, "circle", scene.network.n).forEach((ring, i) => {
        const [cx, cy] = scene.where[i], strength = Math.log10(sizes[i] / SPIKE);
        const r = radius + (strength > 0 ? 4 + 12 * Math.min(strength, 1.5) * (0.4 + 0.6 * phase) : 0);
        set(ring, { cx, cy, r, opacity: strength > 0 ? 0.9 * (1 - phase) : 0 });
      });
    }

    // Which way a node's model lies from the optimum, and how far: nodes that agree point alike.
    function drawNeedles(t, phase) {
      const lines = pool(parts.needles, "line", scene.runs.length * scene.network.n);
      scene.runs.slice().reverse().forEach((run, r) => {
        living.pointsAt(run, t, phase).forEach((point, i) => {
          const off = point.map((c, k) => c - scene.average.optimum[k]), size = living.norm(off);
          const length = size > 0 ? Math.min(radius + 14, 9 * Math.log1p(3 * size)) / size : 0;
          const [x, y] = scene.where[i];
          set(lines[r * scene.network.n + i], { x1: x, y1: y, x2: x + length * off[0] || x, y2: y - length * off[1] || y,
            class: `needle pick-${scene.runs.length - 1 - r}` });
        });
      });
    }

    return { prepare, draw, nodesAt: () => [scene.where] };
  };
})(window.living ??= {});
