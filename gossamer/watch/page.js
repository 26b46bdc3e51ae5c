// Asks the server for what the folder holds, every second, and draws what has changed.
"use strict";

const SECOND = 1000, WIDTH = 480, HEIGHT = 260;
const MARGIN = { left: 58, right: 12, top: 10, bottom: 26 };
const HOLDS = { yes: "holds", partly: "holds in part", no: "does not hold" };
const hidden = new Set(); // curves that the reader has switched off, by section, metric and label
let drawn = "";

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "text", "circle", "g"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function coloured(element, curve) {
  element.style.setProperty("--light", curve.light);
  element.style.setProperty("--dark", curve.dark);
  return element;
}

// Places for about `count` lines between low and high: 1, 2 or 5 times a power of ten apart.
function ticks(low, high, count) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// Powers of ten, or where there are few of them also 2 and 5 times them.
function logTicks(low, high) {
  const found = [], decades = Math.log10(high / low);
  const stride = Math.max(1, Math.ceil(decades / 6));
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
    if (k % stride === 0) for (const factor of decades > 2 ? [1] : [1, 2, 5]) found.push(factor * 10 ** k);
  }
  return found.filter(value => value >= low * 0.999 && value <= high * 1.001);
}

function scales(curves) {
  const points = curves.flatMap(curve => curve.points.filter(([, y]) => y !== null));
  if (points.length === 0) return null;
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  let [low, high] = [Math.min(...ys), Math.max(...ys)];
  const log = low > 0;
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
  const left = Math.min(...xs), right = Math.max(...xs);
  const [from, to] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const wide = WIDTH - MARGIN.left - MARGIN.right, tall = HEIGHT - MARGIN.top - MARGIN.bottom;
  return {
    left, right,
    x: value => MARGIN.left + wide * (right > left ? (value - left) / (right - left) : 0.5),
    y: value => MARGIN.top + tall * (1 - ((log ? Math.log(value) : value) - from) / (to - from)),
    xTicks: ticks(left, right, 5),
    yTicks: log ? logTicks(low, high) : ticks(low, high, 5),
  };
}

function path(curve, scale) {
  let text = "", pen = "M";
  for (const [x, y] of curve.points) {
    if (y === null) { pen = "M"; continue; }
    text += `${pen}${scale.x(x).toFixed(1)} ${scale.y(y).toFixed(1)}`;
    pen = "L";
  }
  return text;
}

function axes(scale) {
  const lines = make("g");
  for (const value of scale.yTicks) {
    const y = scale.y(value);
    lines.append(make("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y }),
      make("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, shown(value)));
  }
  for (const value of scale.xTicks) {
    lines.append(make("text", { x: scale.x(value), y: HEIGHT - 8, "text-anchor": "middle" }, shown(value)));
  }
  return lines;
}

// Beside every curve its value at the place that is pointed at, or else its last one.
function tell(figure, curves, scale, at) {
  figure.querySelectorAll("output").forEach((output, k) => {
    const known = curves[k].points.filter(([, y]) => y !== null);
    const near = (best, point) => Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best;
    const point = at === null ? known.at(-1) : known.length ? known.reduce(near) : undefined;
    output.textContent = point ? `${shown(point[1])}${at === null ? "" : ` at ${shown(point[0])}`}` : "diverged";
  });
  const cursor = figure.querySelector(".cursor");
  if (cursor) cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
  if (cursor && at !== null) for (const end of ["x1", "x2"]) cursor.setAttribute(end, scale.x(at));
}

function picture(figure, chart, key) {
  const curves = chart.curves.filter(curve => !hidden.has(key + curve.label));
  const scale = scales(curves);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": chart.metric });
  if (scale === null) return svg;
  svg.append(axes(scale));
  for (const curve of curves) {
    const line = { class: "curve", d: path(curve, scale), "stroke-dasharray": curve.dash };
    svg.append(coloured(make("path", line), curve));
    const last = curve.points.findLast(([, y]) => y !== null);
    if (last) svg.append(coloured(make("circle", { class: "last", r: 3, cx: scale.x(last[0]), cy: scale.y(last[1]) }), curve));
  }
  svg.append(make("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" }));
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * WIDTH;
    const share = (x - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right);
    tell(figure, chart.curves, scale, scale.left + Math.min(1, Math.max(0, share)) * (scale.right - scale.left));
  });
  svg.addEventListener("pointerleave", () => tell(figure, chart.curves, scale, null));
  return svg;
}

function chartOf(chart, key) {
  const figure = make("figure", {}, make("figcaption", {}, `${chart.metric} by step`));
  const legend = make("ul", { class: "legend" });
  for (const curve of chart.curves) {
    const stroke = make("path", { class: "curve", d: "M0 3H22", "stroke-dasharray": curve.dash });
    const mark = coloured(make("svg", { viewBox: "0 0 22 6" }, stroke), curve), name = key + curve.label;
    const button = make("button", { type: "button", "aria-pressed": !hidden.has(name) }, mark, curve.label, make("output"));
    button.addEventListener("click", () => {
      if (!hidden.delete(name)) hidden.add(name);
      button.setAttribute("aria-pressed", !hidden.has(name));
      figure.querySelector("figure > svg").replaceWith(picture(figure, chart, key));
    });
    legend.append(make("li", {}, button));
  }
  figure.append(picture(figure, chart, key), legend);
  tell(figure, chart.curves, null, null);
  return figure;
}

function sectionOf(section) {
  const parts = [make("h2", {}, section.title), make("p", {}, section.told)];
  if (section.done !== null) parts.push(make("progress", { max: 1, value: section.done }));
  const charts = section.charts.map(chart => chartOf(chart, `${section.title}\n${chart.metric}\n`));
  if (charts.length) parts.push(make("div", { class: "charts" }, ...charts));
  const verdicts = section.verdicts.map(one => make("li", {},
    make("b", { class: one.holds }, HOLDS[one.holds]), `: ${one.statement}`, make("span", {}, one.ours)));
  if (verdicts.length) parts.push(make("ul", { class: "verdicts" }, ...verdicts));
  return make("section", {}, ...parts);
}

function draw(state) {
  document.title = `${state.folder} · Gossamer`;
  document.getElementById("folder").textContent = state.folder;
  document.getElementById("sections").replaceChildren(...state.sections.map(sectionOf));
}

function say(text, lost) {
  const place = document.getElementById("state");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("lost", lost);
}

async function look() {
  try {
    const text = await (await fetch("state.json")).text();
    if (text !== drawn) draw(JSON.parse(text));
    drawn = text;
    const empty = JSON.parse(text).sections.length === 0;
    say(empty ? "Nothing is here yet; what is written appears by itself." : "Live: read again every second.", false);
  } catch {
    say("The server has ended. What was drawn last stays.", true);
  }
  setTimeout(look, SECOND);
}

look();
