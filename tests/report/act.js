// What a reader does on the page of known curves, and what the page answers.
const all = selector => [...document.querySelectorAll(selector)];

// How many statements, and of how many experiments, are left.
function choose(name, value) {
  const radio = document.querySelector(`input[name=${name}][value="${value}"]`);
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  return [all("[data-holds]:not([hidden])").length, all(".experiment:not([hidden])").length];
}

function middle(curve) {
  const box = curve.getBoundingClientRect();
  return { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
}

// What is told there.
function pointAt(svg, place) {
  const tip = document.getElementById("tip");
  svg.dispatchEvent(new PointerEvent("pointermove", place));
  return tip.hidden ? "" : tip.textContent;
}

const height = element => element.getBoundingClientRect().height;

function figures() {
  const [left, right] = all("#drawn .panel svg"), [first, second] = left.querySelectorAll(".curve");
  const seen = () => all("#drawn .panel [data-label=DSGD]").filter(height).length;
  const [button] = all("#drawn .legend button"), stroke = getComputedStyle(second.querySelector("path")).stroke;
  const told = [pointAt(left, middle(first)), pointAt(left, middle(second)), pointAt(right, middle(right.querySelector(".curve")))];
  const before = seen(), there = middle(first);
  button.click();
  const hidden = [before, seen(), pointAt(left, there)];
  button.click();
  left.dispatchEvent(new PointerEvent("pointerleave"));
  const shown = [seen(), document.getElementById("tip").hidden];
  return { told, hidden, shown, stroke, dots: all("#printed .curve").length };
}

function filters() {
  return [choose("source", "paper setting"), choose("holds", "no"), choose("source", "ours"),
    choose("holds", "yes partly no"), choose("source", "published")];
}

// Whether the contents are seen: at first, when they are asked for, far below.
function contents() {
  const nav = document.querySelector("nav"), menu = document.getElementById("menu");
  const found = [height(nav) > 0];
  menu.click();
  found.push(height(nav) > 0);
  window.scrollTo(0, document.documentElement.scrollHeight);
  found.push(window.scrollY > 100 && height(nav) > 0 && nav.getBoundingClientRect().top < 100);
  return found;
}

window.act = () => document.getElementById("drawn")
  ? { ...figures(), contents: contents(), filters: filters(), ink: getComputedStyle(document.body).color }
  : {};
