// The error of both methods against steps, on a logarithmic axis, with the noise they met.
"use strict";
(living => {
  const { set, add, pool, points } = living;
  const ROOM = { left: 38, right: 12, top: 12, bottom: 66, rug: 30 };

  living.curveView = svg => {
    let scene, size, axes, parts;

    function prepare(next) {
      scene = next;
      size = living.fit(svg, svg.clientWidth < 500 ? 1 : 320 / svg.clientWidth);
      parts = living.groups(svg, "grid", "rug", "ahead", "past", "cursor", "heads", "labels");
      axes = scales();
      drawGrid();
      drawRug();
      scene.runs.forEach((run, r) => {
        add(parts.ahead, "polyline", { class: `curve pick-${r}`, points: points(curve(run, 0, scene.choices.steps)) });
        add(parts.past, "polyline", { class: `curve pick-${r}` });
      });
      parts.ahead.append(...[...parts.ahead.children].reverse()); // the first on top
      parts.pasts = [...parts.past.children];
      parts.past.append(...[...parts.past.children].reverse());
    }

    function scales() {
      const [low, high] = living.rangeOf(scene.runs.flatMap(run => run.errors), 1e-4, 1e3);
      const [bottom, top] = [Math.log10(low) - 0.08, Math.log10(high) + 0.08];
      const x = t => ROOM.left + t / scene.choices.steps * (size.width - ROOM.left - ROOM.right);
      const y = error => {
        const share = (Math.log10(Math.max(error, 1e-12)) - bottom) / (top - bottom);
        const room = size.height - ROOM.top - ROOM.bottom;
        return ROOM.top + room * (1 - Math.max(0, Math.min(1.02, Number.isNaN(share) ? 1.02 : share)));
      };
      return { x, y, low: 10 ** bottom, high: 10 ** top };
    }

    const curve = (run, from, to) => run.errors.slice(from, to + 1).map((e, k) => [axes.x(from + k), axes.y(e)]);

    // 0.1, 0.2, 0.5, 1, … or powers of ten alone where there are many of them.
    function ticks() {
      const few = Math.log10(axes.high / axes.low) < 2.2, found = [];
      for (let power = -4; power <= 3; power++) for (const digit of few ? [1, 2, 5] : [1]) found.push(Number(`${digit}e${power}`));
      return found.filter(v => v >= axes.low && v <= axes.high);
    }

    function drawGrid() {
      const { width, height } = size, base = height - ROOM.bottom;
      for (const value of ticks()) {
        add(parts.grid, "line", { x1: ROOM.left, x2: width - ROOM.right, y1: axes.y(value), y2: axes.y(value) });
        add(parts.labels, "text", { x: ROOM.left - 6, y: axes.y(value) + 4, "text-anchor": "end" }, `${value}`);
      }
      for (const t of [0, 0.25, 0.5, 0.75, 1].map(share => share * scene.choices.steps)) {
        const anchor = t === 0 ? "start" : t === scene.choices.steps ? "end" : "middle";
        add(parts.labels, "text", { x: axes.x(t), y: height - 6, "text-anchor": anchor }, t === 0 ? "0 steps" : `${t}`);
      }
      add(parts.labels, "text", { x: ROOM.left + 4, y: base + 12 }, "wild gradients");
    }

    // The largest noise of each step: bars that grow with its logarithm.
    function drawRug() {
      const base = size.height - ROOM.bottom + ROOM.rug + 14;
      const bars = scene.spikes.map((sizes, t) => {
        const height = Math.max(0, Math.min(ROOM.rug + 8, 8 * Math.log2(Math.max(...sizes) / 10)));
        return height > 0 ? `M${axes.x(t + 0.5).toFixed(1)} ${base}v${-height.toFixed(1)}` : "";
      });
      add(parts.rug, "path", { d: bars.join("") || "M0 0" });
      add(parts.rug, "line", { x1: ROOM.left, x2: size.width - ROOM.right, y1: base + 0.5, y2: base + 0.5 });
      add(parts.cursor, "line", { y1: ROOM.top, y2: base });
    }

    function draw(t, phase) {
      const x = axes.x(Math.min(t + phase, scene.choices.steps));
      set(parts.cursor.firstChild, { x1: x, x2: x });
      const heads = pool(parts.heads, "circle", scene.runs.length);
      scene.runs.forEach((run, r) => {
        const next = run.errors[Math.min(t + 1, scene.choices.steps)], y = axes.y(run.errors[t] + phase * (next - run.errors[t]));
        set(parts.pasts[r], { points: points([...curve(run, 0, t), [x, y]]) });
        set(heads[r], { cx: x, cy: y, r: 4.2, class: `head pick-${r}` });
      });
    }

    // The step at a place of the picture.
    const stepAt = clientX => {
      const box = svg.getBoundingClientRect(), x = (clientX - box.left) * size.width / box.width;
      const share = (x - ROOM.left) / (size.width - ROOM.left - ROOM.right);
      return Math.round(Math.max(0, Math.min(1, share)) * scene.choices.steps);
    };

    return { prepare, draw, stepAt };
  };
})(window.living ??= {});
