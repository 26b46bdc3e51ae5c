// The plane: where the model of every node is, over the contours of the average objective.
"use strict";
(living => {
  const { add, each, points, drawable } = living;
  const LEVELS = [7.5, 5.5, 4, 2.75, 1.75, 1, 0.5]; // √(2 (f − f*)) on the contours
  const TRAIL = 8; // steps

  living.planeView = svg => {
    let scene, size, to, glass, parts;

    function prepare(next) {
      scene = next;
      size = living.fit(svg, w => 0.86 * w);
      to = framing([...scene.problem.centers, scene.problem.start]);
      parts = living.groups(svg, "contours", "own", "trails1", "trails0", "spread1", "spread0",
        "lit", "optimum", "points1", "points0", "labels", "glass");
      drawContours();
      drawPlaces();
      glass = living.glassView(parts.glass, size, scene.average.optimum, to);
    }

    // Equal scales on both axes, all that stays in place in view; below is room for the glass.
    function framing(all) {
      const [xs, ys] = [0, 1].map(k => all.map(v => v[k]));
      const left = Math.min(...xs) - 0.8, top = Math.max(...ys) + 0.8;
      const spans = [Math.max(...xs) - left, top - Math.min(...ys)].map(span => span + 0.8);
      const scale = Math.min(size.width / spans[0], size.height / spans[1]);
      return Object.assign(([x, y]) => [scale * (x - left), scale * (top - y)], { scale });
    }

    function drawContours() {
      const [cx, cy] = to(scene.average.optimum);
      const [a, b] = scene.average.curvature.map(curvature => to.scale / Math.sqrt(curvature));
      each(parts.contours, "ellipse", LEVELS, level => ({ cx, cy, rx: level * a, ry: level * b }));
    }

    function drawPlaces() {
      const own = scene.problem.centers.map(to), [x, y] = to(scene.problem.start);
      each(parts.own, "path", own, place => ({ d: living.cross(place, 3) }));
      add(parts.optimum, "path", { d: living.disc(to(scene.average.optimum), 7) });
      add(parts.optimum, "path", { d: living.plus(to(scene.average.optimum), 11) });
      const highest = own.reduce((a, b) => (b[1] < a[1] ? b : a));
      const above = { x: highest[0], y: highest[1] - 9, "text-anchor": "middle" };
      add(parts.labels, "text", above, "a node’s own optimum");
      add(parts.labels, "circle", { cx: x, cy: y, r: 2.5 });
      add(parts.labels, "text", { x, y: y - 9, "text-anchor": "middle" }, "start");
    }

    function draw(t, phase, lit) {
      const now = scene.runs.map(run => living.pointsAt(run, t, phase));
      scene.runs.forEach((run, r) => drawRun(run, r, t, now[r]));
      drawLit(lit, now);
    }

    function drawRun({ path }, r, t, now) {
      const where = now.map(point => drawable(to(point)));
      const mean = [0, 1].map(k => where.reduce((sum, v) => sum + v[k], 0) / where.length);
      each(parts[`points${r}`], "path", where,
        place => ({ d: mark(place, r), class: `point pick-${r}` }));
      each(parts[`spread${r}`], "line", where,
        place => ({ ...living.line(mean, place), class: `spread pick-${r}` }));
      const past = path.slice(Math.max(0, t - TRAIL), t + 1);
      each(parts[`trails${r}`], "polyline", where, (place, i) => ({
        points: points([...past.map(x => drawable(to(x[i]))), place]), class: `trail pick-${r}` }));
      glass.draw(now, r);
    }

    // A dot, the second method's smaller; outside the picture an arrowhead at its border.
    function mark([x, y], r) {
      const { clamp } = living, margin = 7;
      const seen = [clamp(x, margin, size.width - margin), clamp(y, margin, size.height - margin)];
      if (seen[0] === x && seen[1] === y) return living.disc(seen, 4.2 - 0.6 * r);
      const angle = Math.atan2(y - seen[1], x - seen[0]);
      const corner = a => [seen[0] + 6 * Math.cos(a), seen[1] + 6 * Math.sin(a)];
      return `M${points([angle, angle + 2.5, angle - 2.5].map(corner))}Z`;
    }

    // The node that is pointed at: what it alone would like, and where it is instead.
    function drawLit(lit, now) {
      [...parts.own.children].forEach((cross, i) => cross.classList.toggle("lit", i === lit));
      const own = lit < 0 ? undefined : to(scene.problem.centers[lit]);
      each(parts.lit, "line", own ? now : [],
        (x, r) => ({ ...living.line(own, drawable(to(x[lit]))), class: `pick-${r}` }));
    }

    // All places where a node can be pointed at, list by list.
    const marks = (t, phase) => {
      const now = scene.runs.map(run => living.pointsAt(run, t, phase));
      return [...now, scene.problem.centers].map(list => list.map(to));
    };
    return { prepare, draw, marks };
  };
})(window.living ??= {});
