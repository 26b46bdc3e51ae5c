// Loads the parts of the living picture, in order; plain scripts, so that it also opens from disk.
"use strict";
window.living = { here: document.currentScript.src };
for (const name of [
  "networks", "links", "methods", "noise", "run", // the arithmetic
  "scene", "stories", "words", // what follows from the choices
  "svg", "layouts", "network_view", "glass_view", "plane_view", "curve_view", // what is drawn
  "controls", "theme", "picture", // <living-picture>
]) {
  const script = document.createElement("script");
  script.src = new URL(`${name}.js`, window.living.here);
  script.async = false;
  document.head.append(script);
}
