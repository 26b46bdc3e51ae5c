// The plane: where the model of every node is, over the contours of the average objective.
"use strict";
(living => {
  const { set, add, pool, points } = living;
  const LEVELS = [0.5, 1, 1.75, 2.75, 4, 5.5, 7.5]; // √(2 (f − f*)) on the contours
  const TRAIL = 8; // steps

  living.planeView = svg => {
    let scene, size, to, parts;

    function prepare(next) {
      scene = next;
      size = living.fit(svg, 0.86);
      to = framing(size, [...scene.problem.centers, scene.problem.start]);
      parts = living.groups(svg, "contours", "own", "trails1", "trails0", "spread1", "spread0",
        "optimum", "points1", "points0", "means", "labels");
      drawContours();
      drawOptima();
    }

    // Equal scales on both axes, everything that stays in view with a margin.
    function framing({ width, height }, all) {
      const [xs, ys] = [0, 1].map(k => all.map(v => v[k]));
      const middle = [xs, ys].map(v => (Math.min(...v) + Math.max(...v)) / 2);
      const spans = [xs, ys].map(v => Math.max(...v) - Math.min(...v) + 1.6);
      const scale = Math.min(width / spans[0], height / spans[1]);
      const project = ([x, y]) => [width / 2 + scale * (x - middle[0]), height / 2 - scale * (y - middle[1])];
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
      add(parts.labels, "text", { x: x + 14, y: y + 18, class: "strong" }, "optimum of all");
      const [sx, sy] = to(scene.problem.start);
      add(parts.labels, "text", { x: sx, y: sy - 10, "text-anchor": "middle" }, "start");
    }

    function draw(t, phase) {
      parts.means.replaceChildren();
      scene.runs.forEach((run, r) => drawRun(run, r, t, phase));
    }

    function drawRun(run, r, t, phase) {
      const now = living.pointsAt(run, t, phase), mean = to(living.mean(now)), where = now.map(to);
      pool(parts[`points${r}`], "path", now.length).forEach((mark, i) => set(mark, { d: shape(where[i], r), class: `point pick-${r}` }));
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

    return { prepare, draw };
  };
})(window.living ??= {});
