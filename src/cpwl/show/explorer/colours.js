// Colours that colour-blind readers tell apart: viridis for values, blue against orange for two signs.

const VIRIDIS = ["#440154", "#472c7a", "#3b518b", "#2c718e", "#21908d", "#27ad81", "#5cc863", "#aadc32", "#fde725"].map(rgb);
const CONCAVE = rgb("#2b6fd6");
const CONVEX = rgb("#e8710a");
const MIDDLE = rgb("#f2f2f2");

function rgb(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

function mixed(one, two, share) {
  return one.map((c, k) => Math.round(c + (two[k] - c) * share));
}

// The colour of a value in [0, 1], from low to high.
function sequential(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const i = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mixed(VIRIDIS[i], VIRIDIS[i + 1], place - i);
}

// The colour of a value in [-1, 1]: blue below, orange above.
function diverging(share) {
  return mixed(MIDDLE, share < 0 ? CONCAVE : CONVEX, Math.min(Math.abs(share), 1));
}

// Colours of things that have a number but no order, such as laws: neighbouring numbers are far apart on the wheel.
function category(k) {
  const hue = (k * 137.508) % 360, share = [0.58, 0.45, 0.66][k % 3], level = [0.56, 0.68, 0.44][(k >> 1) % 3];
  const part = (n) => {
    const at = (n + hue / 30) % 12;
    return Math.round(255 * (level - share * Math.min(level, 1 - level) * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [part(0), part(8), part(4)];
}

const css = (colour, alpha = 1) => `rgba(${colour[0]},${colour[1]},${colour[2]},${alpha})`;

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
