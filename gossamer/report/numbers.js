// Numbers as people write them: three digits, powers of ten where they are very large or small.
"use strict";

function shown(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("+", "").replace(".0e", "e");
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
