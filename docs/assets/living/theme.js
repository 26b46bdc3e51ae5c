// Light or dark, as the page around the picture is, whichever way it was told.
"use strict";
(living => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  function painted(colour) {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return paint.getImageData(0, 0, 1, 1).data;
  }

  // Whether the first background behind the element is dark.
  function isDark(element) {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, opacity] = painted(getComputedStyle(at).backgroundColor);
      if (opacity > 127) return 0.299 * r + 0.587 * g + 0.114 * b < 128;
    }
    return false;
  }

  living.followTheme = host => {
    const follow = () => { host.dataset.theme = isDark(host.parentElement) ? "dark" : "light"; };
    const changed = () => { follow(); setTimeout(follow, 400); }; // some pages fade
    for (const part of [document.documentElement, document.body]) {
      new MutationObserver(changed).observe(part, { attributes: true });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    follow();
  };
})(window.living ??= {});
