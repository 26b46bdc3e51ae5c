// Filters of the statements, legends that switch curves, the value under the pointer, the place in
// the contents. Without it the page shows everything.

// ---------------------------------------------------------------------- statements

function filter() {
  const chosen = new FormData(document.getElementById("filters"));
  const wanted = name => chosen.get(name).split(" ");
  const all = [...document.querySelectorAll("[data-holds]")];
  for (const one of all) {
    one.hidden = !wanted("source").includes(one.dataset.source) || !wanted("holds").includes(one.dataset.holds);
  }
  const left = all.filter(one => !one.hidden).length;
  for (const section of document.querySelectorAll(".experiment")) {
    const empty = left < all.length && !section.querySelector("[data-holds]:not([hidden])");
    section.hidden = document.querySelector(`nav a[href="#${section.id}"]`).hidden = empty;
  }
  document.getElementById("shown").textContent = `${left} of ${all.length} statements`;
}

// ---------------------------------------------------------------------- figures

// What turns a place on an axis into its value: kind, two places, and the values there.
function scale(text) {
  const [kind, ...numbers] = text.split(" ");
  const [from, to, low, high] = numbers.map(Number), log = kind === "log";
  return place => {
    const share = (place - from) / (to - from);
    return log ? low * (high / low) ** share : low + share * (high - low);
  };
}

// The points of a curve as it is drawn: lines through them, or dots that stand alone.
function pointsOf(curve) {
  if (curve.points) return curve.points;
  const lines = [...curve.querySelectorAll("path")].map(path => path.getAttribute("d").split(/(?=M)/)
    .map(run => run.slice(1).split("L").map(pair => pair.trim().split(/\s+/).map(Number))));
  const dots = [...curve.querySelectorAll("use")].map(use => [Number(use.getAttribute("x")), Number(use.getAttribute("y"))]);
  return curve.points = { lines: lines.flat(), dots };
}

// Where a line through points is at x, or nothing where it is not.
function at(line, x) {
  for (let k = 1; k < line.length; k++) {
    const [[x0, y0], [x1, y1]] = [line[k - 1], line[k]];
    if (x >= Math.min(x0, x1) && x <= Math.max(x0, x1)) return [x, x1 === x0 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0)];
  }
}

// The point of a panel's visible curves that is nearest to the pointer.
function nearest(svg, x, y) {
  const box = svg.querySelector("clipPath rect"), inside = box ? ["x", "y", "width", "height"].map(n => Number(box.getAttribute(n))) : null;
  let best = null;
  for (const curve of svg.querySelectorAll(".curve:not(.off)")) {
    const { lines, dots } = pointsOf(curve);
    for (const point of lines.length ? lines.map(line => at(line, x)) : dots) {
      if (!point || (inside && (point[1] < inside[1] - 1 || point[1] > inside[1] + inside[3] + 1))) continue;
      const distance = Math.hypot(point[0] - x, point[1] - y);
      if (!best || distance < best.distance) best = { curve, point, distance };
    }
  }
  return best;
}

function say(svg, { curve, point }) {
  const [x, y] = [scale(svg.dataset.x)(point[0]), scale(svg.dataset.y)(point[1])], label = curve.dataset.label;
  const rows = svg.dataset.rows && JSON.parse(svg.dataset.rows), row = rows && rows[Math.round(y)];
  if (row) return row === label ? `${label}: ${shown(x)}` : `${row}, ${label}: ${shown(x)}`;
  return `${label}: ${shown(y)} at ${shown(x)}`;
}

const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });

function forget() {
  tip.hidden = true;
  document.querySelector(".spot")?.remove();
  document.querySelectorAll(".near").forEach(curve => curve.classList.remove("near"));
}

function point(event) {
  const svg = event.currentTarget;
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const found = nearest(svg, x, y);
  forget();
  if (!found) return;
  found.curve.classList.add("near");
  svg.insertAdjacentHTML("beforeend", `<circle class="spot" r="3" cx="${found.point[0]}" cy="${found.point[1]}"/>`);
  tip.textContent = say(svg, found);
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(room, event.clientX + 14))}px`;
  tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 14)}px`;
}

function switchCurve(button) {
  const off = button.getAttribute("aria-pressed") === "true", label = CSS.escape(button.dataset.label);
  button.setAttribute("aria-pressed", !off);
  for (const part of button.closest("figure").querySelectorAll(`.panel [data-label="${label}"]`)) part.classList.toggle("off", off);
}

// ---------------------------------------------------------------------- contents

function follow() {
  const watched = new IntersectionObserver(seen => {
    const top = seen.find(one => one.isIntersecting);
    if (!top) return;
    document.querySelector("nav [aria-current]")?.removeAttribute("aria-current");
    document.querySelector(`nav a[href="#${top.target.id}"]`)?.setAttribute("aria-current", "true");
  }, { rootMargin: "-10% 0px -80%" });
  document.querySelectorAll("main > [id]").forEach(part => watched.observe(part));
}

document.body.append(tip);
document.getElementById("filters").addEventListener("change", filter);
document.querySelectorAll(".legend button").forEach(button => button.addEventListener("click", () => switchCurve(button)));
for (const svg of document.querySelectorAll(".panel svg")) {
  for (const moved of ["pointermove", "pointerdown"]) svg.addEventListener(moved, point);
  svg.addEventListener("pointerleave", forget);
}
document.querySelectorAll("nav a").forEach(link => link.addEventListener("click", () => { document.getElementById("menu").checked = false; }));
filter();
follow();
