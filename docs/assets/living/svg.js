// The little that drawing needs: elements, pools of them, and figures measured in pixels.
"use strict";
(living => {
  const SVG = "http://www.w3.org/2000/svg";

  living.set = (element, attributes) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  living.add = (parent, name, attributes = {}, text) => {
    const element = living.set(document.createElementNS(SVG, name), attributes);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  };

  // As many elements in a group as there are items, each with the attributes that its item gives.
  living.each = (group, name, items, attributes) => {
    while (group.childElementCount > items.length) group.lastChild.remove();
    while (group.childElementCount < items.length) living.add(group, name);
    items.forEach((item, i) => living.set(group.children[i], attributes(item, i)));
  };

  // One unit of the drawing is one pixel; the height follows from the width.
  living.fit = (svg, heightOf) => {
    const width = Math.max(240, svg.clientWidth), height = Math.round(heightOf(width));
    living.set(svg, { viewBox: `0 0 ${width} ${height}`, height });
    return { width, height };
  };

  living.groups = (svg, ...names) => {
    svg.replaceChildren();
    return Object.fromEntries(names.map(name => [name, living.add(svg, "g", { class: name })]));
  };

  living.clamp = (value, low, high) => Math.min(high, Math.max(low, value));
  // What can be drawn, of a run that flew apart, too.
  living.drawable = point =>
    point.map(c => living.clamp(Number.isNaN(c) ? Infinity : c, -1e4, 1e4));

  living.points = list => list.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
  living.line = ([x1, y1], [x2, y2]) => ({ x1, y1, x2, y2 });
  const arc = (r, across) => `a${r} ${r} 0 1 0 ${across} 0`;
  living.disc = ([x, y], r) => `M${x - r} ${y}${arc(r, 2 * r)}${arc(r, -2 * r)}Z`;
  living.cross = ([x, y], r) =>
    `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`;
  living.plus = ([x, y], r) => `M${x - r} ${y}h${2 * r}M${x} ${y - r}v${2 * r}`;
})(window.living ??= {});
