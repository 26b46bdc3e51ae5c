// The little that drawing needs: elements, pools of them, and the size of a figure in pixels.
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

  // Exactly `count` elements in a group, those that are there being kept.
  living.pool = (group, name, count) => {
    while (group.childElementCount > count) group.lastChild.remove();
    while (group.childElementCount < count) living.add(group, name);
    return [...group.children];
  };

  // One unit of the drawing is one pixel; the height follows from the width.
  living.fit = (svg, ratio) => {
    const width = Math.max(240, svg.clientWidth || 360), height = Math.round(width * ratio);
    living.set(svg, { viewBox: `0 0 ${width} ${height}`, height });
    return { width, height };
  };

  living.groups = (svg, ...names) => {
    svg.replaceChildren();
    return Object.fromEntries(names.map(name => [name, living.add(svg, "g", { class: name })]));
  };

  living.points = list => list.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
})(window.living ??= {});
