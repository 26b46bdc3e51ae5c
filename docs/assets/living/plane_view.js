// The plane: where the model of every node is, over the contours of the average objective.
"use strict";
(living => {
  const { set, add, pool, points } = living;
  const LEVELS = [0.5, 1, 1.75, 2.75, 4, 5.5, 7.5]; // √(2 (f − f*)) on the contours
  const TRAIL = 8; // steps
  const NEAR = 0.7; // what the magnifying glass shows around the optimum

  living.planeView = svg => {
    let scene, size, to, glass, parts;

    function prepare(next) {
      scene = next;
      size = living.fit(svg, 0.86);
      to = framing(size, [...scene.problem.centers, scene.problem.start]);
      parts = living.groups(svg, "contours", "own", "trails1", "trails0", "spread1", "spread0",
        "lit", "optimum", "points1", "points0", "labels", "glass");
      drawContours();
      drawOptima();
      drawGlass();
    }

    // Equal scales on both axes, all that stays in place in view; below is room for the glass.
    function framing({ width, height }, all) {
      const [xs, ys] = [0, 1].map(k => all.map(v => v[k]));
      const left = Math.min(...xs) - 0.8, top = Math.max(...ys) + 0.8;
      const spans = [xs, ys].map(v => Math.max(...v) - Math.min(...v) + 1.6);
      const scale = Math.min(width / spans[0], height / spans[1]);
      const project = ([x, y]) => [scale * (x - left), scale * (top - y)];
      return Object.assign(project, { scale });
    }

    function drawContours() {
      const [cx, cy] = to(scene.average.optimum), [a, b] = scene.average.curvature.map(Math.sqrt);
      const rings = pool(parts.contours, "ellipse", LEVELS.length);
      LEVELS.slice().reverse().forEach((level, k) => set(rings[k], { cx, cy, rx: to.scale * level / a, ry: to.scale * level / b }));
    }

    function drawOptima() {
      const where = scene.problem.centers.map(to);
      pool(parts.own, "path", where.length).forEach(
        (cross, i) => set(cross, { d: `M${where[i][0] - 3} ${where[i][1] - 3}l6 6m0 -6l-6 6` }));
      const [x, y] = to(scene.average.optimum);
      add(parts.optimum, "circle", { cx: x, cy: y, r: 7 });
      add(parts.optimum, "path", { d: `M${x - 11} ${y}h22M${x} ${y - 11}v22` });
      const farthest = where.reduce((a, b) => (b[1] < a[1] ? b : a));
      add(parts.labels, "text", { x: farthest[0] - 8, y: farthest[1] + 4, "text-anchor": "end" }, "a node’s own optimum");
      const [sx, sy] = to(scene.problem.start);
      add(parts.own, "circle", { cx: sx, cy: sy, r: 2.5 });
      add(parts.labels, "text", { x: sx, y: sy - 9, "text-anchor": "middle" }, "start");
    }

    // A magnifying glass in the corner, over what is near the optimum.
    function drawGlass() {
      const r = 0.19 * size.width, middle = [size.width - r - 10, size.height - r - 10], near = to(scene.average.optimum);
      const angle = Math.atan2(middle[1] - near[1], middle[0] - near[0]), s = NEAR * to.scale;
      for (const side of [-1, 1]) {
        const [c, d] = [Math.cos(angle + side * Math.PI / 2), Math.sin(angle + side * Math.PI / 2)];
        add(parts.glass, "line", { x1: near[0] + s * c, y1: near[1] + s * d, x2: middle[0] + r * c, y2: middle[1] + r * d });
      }
      add(parts.glass, "circle", { cx: near[0], cy: near[1], r: s, class: "from" });
      add(parts.glass, "circle", { cx: middle[0], cy: middle[1], r, class: "lens" });
      add(add(parts.glass, "clipPath", { id: "lens" }), "circle", { cx: middle[0], cy: middle[1], r });
      glass = point => point.map((c, k) => middle[k] + (k ? -1 : 1) * (c - scene.average.optimum[k]) * r / NEAR);
      const inside = add(parts.glass, "g", { "clip-path": "url(#lens)" }), [x, y] = middle;
      add(inside, "path", { class: "optimum", d: `M${x - 11} ${y}h22M${x} ${y - 11}v22` });
      glass.points = [0, 1].map(() => add(inside, "g")).reverse();
      for (const [text, above] of [["optimum of all", 22], [`${Math.round(r / s)}×`, 8]]) {
        add(parts.glass, "text", { x: middle[0], y: middle[1] + r - above, "text-anchor": "middle" }, text);
      }
    }

    function draw(t, phase, lit) {
      scene.runs.forEach((run, r) => drawRun(run, r, t, phase));
      drawLit(lit, t, phase);
    }

    // The node that is pointed at: what it alone would like, and where it is instead.
    function drawLit(lit, t, phase) {
      [...parts.own.children].forEach((mark, i) => mark.classList.toggle("lit", i === lit));
      const shown = scene.runs.filter(() => lit >= 0).map(run => living.pointsAt(run, t, phase)[lit]);
      pool(parts.lit, "line", shown.length).forEach((line, r) => {
        const [[x1, y1], [x2, y2]] = [scene.problem.centers[lit], shown[r]].map(v => to(v).map(finite));
        set(line, { x1, y1, x2, y2, class: `pick-${r}` });
      });
    }

    function drawRun(run, r, t, phase) {
      const now = living.pointsAt(run, t, phase), mean = to(living.mean(now)), where = now.map(to);
      pool(parts[`points${r}`], "path", now.length).forEach((mark, i) => set(mark, { d: shape(where[i], r), class: `point pick-${r}` }));
      pool(glass.points[r], "path", now.length).forEach((mark, i) => set(mark, {
        d: disc(...glass(now[i]).map(finite), r === 0 ? 4.6 : 4), class: `point pick-${r}` }));
      pool(parts[`spread${r}`], "line", now.length).forEach((line, i) => set(line, {
        x1: finite(mean[0]), y1: finite(mean[1]), x2: finite(where[i][0]), y2: finite(where[i][1]), class: `spread pick-${r}` }));
      pool(parts[`trails${r}`], "polyline", now.length).forEach((line, i) => {
        const past = run.path.slice(Math.max(0, t - TRAIL), t + 1).map(x => to(x[i]).map(finite));
        set(line, { points: points([...past, where[i].map(finite)]), class: `trail pick-${r}` });
      });
    }

    const finite = c => Math.max(-1e4, Math.min(1e4, Number.isFinite(c) ? c : 1e4));

    // A dot, the second method's hollow; outside the picture an arrowhead at its border.
    function shape([x, y], r) {
      const { width, height } = size, margin = 7;
      const [cx, cy] = [Math.max(margin, Math.min(width - margin, finite(x))), Math.max(margin, Math.min(height - margin, finite(y)))];
      if (cx === x && cy === y) return disc(cx, cy, r === 0 ? 4.2 : 3.6);
      const angle = Math.atan2(finite(y) - cy, finite(x) - cx);
      const corner = turn => `${cx + 6 * Math.cos(angle + turn)} ${cy + 6 * Math.sin(angle + turn)}`;
      return `M${corner(0)}L${corner(2.5)}L${corner(-2.5)}Z`;
    }
    const disc = (x, y, s) => `M${x - s} ${y}a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0Z`;

    const nodesAt = (t, phase) => [...scene.runs.map(run => living.pointsAt(run, t, phase)), scene.problem.centers].map(x => x.map(to));
    return { prepare, draw, nodesAt };
  };
})(window.living ??= {});
