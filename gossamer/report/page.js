// Filters of the statements, legends that switch curves, the value under the pointer, the place in
// the contents. Without it the page shows everything.

// ---------------------------------------------------------------------- statements

function filter() {
  const chosen = new FormData(document.getElementById("filters"));
  const wanted = name => chosen.get(name).split(" ");
  const all = [...document.querySelectorAll("[data-holds]")];
  for (const one of all) {
    one.hidden = !["source", "holds"].every(name => wanted(name).includes(one.dataset[name]));
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
  const dots = [...curve.querySelectorAll("use")].map(use => ["x", "y"].map(name => Number(use.getAttribute(name))));
  return curve.points = { lines: lines.flat(), dots };
}

// Where a line through points is at x, or nothing where it is not.
function at(line, x) {
  for (let k = 1; k < line.length; k++) {
    const [[x0, y0], [x1, y1]] = [line[k - 1], line[k]];
    const share = x1 === x0 ? 1 : (x - x0) / (x1 - x0);
    if (x >= Math.min(x0, x1) && x <= Math.max(x0, x1)) return [x, y0 + share * (y1 - y0)];
  }
}

// The point of a panel's visible curves that is nearest to the pointer.
function nearest(svg, x, y) {
  const [bottom, top] = svg.dataset.y.split(" ").slice(1).map(Number);
  const seen = point => point && point[1] <= bottom + 1 && point[1] >= top - 1;
  let best = null;
  for (const curve of svg.querySelectorAll(".curve:not(.off)")) {
    const { lines, dots } = pointsOf(curve);
    for (const point of (lines.length ? lines.map(line => at(line, x)) : dots).filter(seen)) {
      const distance = Math.hypot(point[0] - x, point[1] - y);
      if (!best || distance < best.distance) best = { curve, point, distance };
    }
  }
  return best;
}

// Its value in words: that of a row, where rows have names, or else the height at a place.
function say(svg, { curve, point }) {
  const x = scale(svg.dataset.x)(point[0]), y = scale(svg.dataset.y)(point[1]);
  const label = curve.dataset.label, row = JSON.parse(svg.dataset.rows ?? "[]")[Math.round(y)];
  if (!row) return `${label}: ${shown(y)} at ${shown(x)}`;
  return row === label ? `${label}: ${shown(x)}` : `${row}, ${label}: ${shown(x)}`;
}

const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });

function forget() {
  tip.hidden = true;
  document.querySelector(".spot")?.remove();
  document.querySelectorAll(".near").forEach(curve => curve.classList.remove("near"));
}

function point(event) {
  const svg = event.currentTarget;
  const pointer = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = pointer.matrixTransform(svg.getScreenCTM().inverse());
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
  const parts = button.closest("figure").querySelectorAll(`.panel [data-label="${label}"]`);
  parts.forEach(part => part.classList.toggle("off", off));
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
