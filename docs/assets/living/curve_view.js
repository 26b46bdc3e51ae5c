// The error of both methods against steps, on a logarithmic axis, with the noise they met.
"use strict";
(living => {
  const { add, each, points, clamp } = living;
  const ROOM = { left: 38, right: 12, top: 12, bottom: 66, rug: 44 };
  const WILD = 10; // scales of the noise: from there on it has a bar

  living.curveView = svg => {
    let scene, size, axes, parts;

    function prepare(next) {
      scene = next;
      size = living.fit(svg, width => width < 500 ? width : 320);
      parts = living.groups(svg, "grid", "rug", "ahead", "past", "cursor", "heads", "labels");
      axes = scales();
      drawGrid();
      drawRug();
      drawCurves(parts.ahead, scene.runs.map(({ errors }) => curve(errors)));
    }

    const curve = errors => errors.map((e, t) => [axes.x(t), axes.y(e)]);
    const drawCurves = (group, curves) => each(group, "polyline", onTop(curves),
      (line, k) => ({ points: points(line), class: `curve pick-${1 - k}` }));

    // The second method first, so that the first one lies on top.
    const onTop = list => [list[1], list[0]];

    function scales() {
      const errors = scene.runs.flatMap(run => run.errors).filter(e => e > 0 && e < 1e3);
      const [low, high] = [Math.log10(Math.min(...errors)), Math.log10(Math.max(...errors))];
      const bottom = Math.max(-4, low) - 0.08, top = high + 0.08;
      const width = size.width - ROOM.left - ROOM.right;
      const height = size.height - ROOM.top - ROOM.bottom;
      const share = e => Number.isNaN(e) ? 1 : (Math.log10(e) - bottom) / (top - bottom);
      return {
        x: t => ROOM.left + width * t / scene.choices.steps,
        y: e => ROOM.top + height * (1 - clamp(share(e), 0, 1)),
        within: e => e >= 10 ** bottom && e <= 10 ** top,
        few: top - bottom < 2.8,
      };
    }

    // 0.1, 0.2, 0.5, 1, … or powers of ten alone where there are many of them.
    function ticks() {
      const all = [-4, -3, -2, -1, 0, 1, 2, 3].flatMap(
        power => (axes.few ? [1, 2, 5] : [1]).map(digit => Number(`${digit}e${power}`)));
      return all.filter(axes.within);
    }

    function drawGrid() {
      const { width, height } = size, { steps } = scene.choices;
      for (const value of ticks()) {
        const y = axes.y(value);
        add(parts.grid, "line", living.line([ROOM.left, y], [width - ROOM.right, y]));
        add(parts.labels, "text", { x: ROOM.left - 6, y: y + 4, "text-anchor": "end" }, `${value}`);
      }
      for (const t of [0, 0.25, 0.5, 0.75, 1].map(share => share * steps)) {
        const anchor = t === 0 ? "start" : t === steps ? "end" : "middle";
        add(parts.labels, "text", { x: axes.x(t), y: height - 6, "text-anchor": anchor },
          t === 0 ? "0 steps" : `${t}`);
      }
    }

    // The wildest gradient of each step: a bar that grows with the logarithm of its noise.
    function drawRug() {
      const base = size.height - ROOM.bottom + ROOM.rug;
      const heights = scene.spikes.map(
        sizes => clamp(8 * Math.log2(Math.max(...sizes) / WILD), 0, ROOM.rug - 6));
      const wild = living.range(heights.length).filter(t => heights[t] > 0);
      const bar = t => `M${axes.x(t + 0.5).toFixed(1)} ${base}v${-heights[t].toFixed(1)}`;
      add(parts.rug, "path", { d: wild.map(bar).join("") });
      add(parts.rug, "line", living.line([ROOM.left, base], [size.width - ROOM.right, base]));
      const label = { x: ROOM.left + 4, y: base - ROOM.rug + 12 };
      if (wild.length > 0) add(parts.labels, "text", label, "huge gradients");
    }

    function draw(t, phase) {
      const { steps } = scene.choices, now = axes.x(Math.min(t + phase, steps));
      const heads = scene.runs.map(({ errors }) => (
        [now, axes.y(errors[t] + phase * (errors[Math.min(t + 1, steps)] - errors[t]))]));
      drawCurves(parts.past,
        scene.runs.map(({ errors }, r) => [...curve(errors.slice(0, t + 1)), heads[r]]));
      each(parts.heads, "circle", onTop(heads),
        ([cx, cy], k) => ({ cx, cy, r: 4.2, class: `head pick-${1 - k}` }));
      const base = size.height - ROOM.bottom + ROOM.rug;
      each(parts.cursor, "line", [now], x => living.line([x, ROOM.top], [x, base]));
    }

    // The step at a place of the figure.
    const stepAt = clientX => {
      const x = clientX - svg.getBoundingClientRect().left - ROOM.left;
      const share = clamp(x / (size.width - ROOM.left - ROOM.right), 0, 1);
      return Math.round(share * scene.choices.steps);
    };

    return { prepare, draw, stepAt };
  };
})(window.living ??= {});
