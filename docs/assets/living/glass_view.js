// A magnifying glass in the corner of the plane, over what is near the optimum.
"use strict";
(living => {
  const { add, each } = living;
  const NEAR = 0.7; // what it shows around the optimum, in units of the plane

  living.glassView = (group, size, optimum, to) => {
    const r = 0.19 * size.width, s = NEAR * to.scale;
    const near = to(optimum), middle = [size.width - r - 10, size.height - r - 10];
    const around = ([cx, cy], radius) => ({ cx, cy, r: radius });

    const angle = Math.atan2(middle[1] - near[1], middle[0] - near[0]);
    for (const turn of [angle - Math.PI / 2, angle + Math.PI / 2]) {
      const edge = ([x, y], radius) => [x + radius * Math.cos(turn), y + radius * Math.sin(turn)];
      add(group, "line", living.line(edge(near, s), edge(middle, r)));
    }
    add(group, "circle", { ...around(near, s), class: "from" });
    add(group, "circle", { ...around(middle, r), class: "lens" });
    add(add(group, "clipPath", { id: "lens" }), "circle", around(middle, r));
    const inside = add(group, "g", { "clip-path": "url(#lens)" });
    add(inside, "path", { class: "optimum", d: living.plus(middle, 11) });
    const dots = [1, 0].map(() => add(inside, "g")).reverse(); // the first method's on top
    for (const [text, above] of [["optimum of all", 22], [`${Math.round(r / s)}×`, 8]]) {
      add(group, "text", { x: middle[0], y: middle[1] + r - above, "text-anchor": "middle" }, text);
    }

    const enlarged = ([x, y]) => [
      middle[0] + (x - optimum[0]) * r / NEAR, middle[1] - (y - optimum[1]) * r / NEAR];
    const draw = (now, k) => each(dots[k], "path", now, point => ({
      d: living.disc(living.drawable(enlarged(point)), 4.6 - 0.6 * k), class: `point pick-${k}` }));
    return { draw };
  };
})(window.living ??= {});
