// What is seen of a function or network on the plane of two inputs: shapes with laws where they are known, values otherwise.

function planeField(item, data, output, axes, at) {
  const frame = rectangle(data.box, axes);
  let shapes = null;
  if (item.pieces) shapes = slicePieces(item.pieces, data.n, output, axes, at, data.box);
  else if (item.network && item.network.layers) {
    const regions = regionsOnPlane(item.network.layers, data.n, axes, at, data.box);
    shapes = regions && regions.map(({ corners, forms }) => ({ corners, law: Array.from(forms.slice(3 * output, 3 * output + 3)), piece: null }));
  }
  if (shapes) {
    const locator = new Locator(shapes, frame);
    const find = (x, y) => locator.find(x, y);
    const value = (x, y) => { const s = find(x, y); return s < 0 ? NaN : valueAt(shapes[s].law, x, y); };
    return { shapes, find, value, locator, frame, kinds: kindsOf(shapes, item.pieces, output), ...spread(shapes.flatMap((shape) => cornerValues(shape))) };
  }
  const point = Float64Array.from(at);
  const value = (x, y) => { point[axes[0]] = x; point[axes[1]] = y; return networkValue(item.network.layers, point, output); };
  return { ...rasterField(value, frame, weightCount(item.network.layers)), find: () => -1 };
}

// Numbers of laws and of pieces, for colours: shapes with one law have one number.
function kindsOf(shapes, pieces, output) {
  const numbers = new Map();
  const numberOf = (key) => { if (!numbers.has(key)) numbers.set(key, numbers.size); return numbers.get(key); };
  const key = ({ law, piece }) => (pieces ? pieces.component[piece * pieces.outputs + output] : law.map((v) => v.toPrecision(9)).join());
  const laws = shapes.map((shape) => numberOf(key(shape)));
  return { laws: { of: laws, count: numbers.size }, pieces: { of: shapes.map((_, s) => s), count: shapes.length } };
}

// A proved bound on the difference holds everywhere, but a difference of two float values is only known up to their
// rounding: where the bound is below that, the difference is drawn as 0.
function boundedGap(one, two, bound) {
  if (bound === null) return (a, b) => a - b;
  const size = Math.max(Math.abs(one.bottom), Math.abs(one.top), Math.abs(two.bottom), Math.abs(two.top));
  if (bound <= 1e-10 * size || bound === 0) return (a, b) => (Number.isNaN(a - b) ? NaN : 0);
  return (a, b) => Math.min(Math.max(a - b, -bound), bound);
}

function differenceField(one, two, bound, frame) {
  const gap = boundedGap(one, two, bound);
  return { ...rasterField((x, y) => gap(one.value(x, y), two.value(x, y)), frame, 200), find: () => -1, signed: true };
}

// Values at the points of a grid, as many as can be computed in a moment.
function rasterField(value, frame, cost) {
  const side = Math.max(24, Math.min(140, Math.floor(Math.sqrt(4e7 / Math.max(1, cost)))));
  const values = new Float64Array((side + 1) * (side + 1));
  const [left, low, wide, tall] = [frame[0], frame[1], (frame[2] - frame[0]) / side, (frame[5] - frame[1]) / side];
  for (let v = 0; v <= side; v++) for (let u = 0; u <= side; u++) values[v * (side + 1) + u] = value(left + u * wide, low + v * tall);
  return { shapes: null, values, side, value, frame, ...spread(values) };
}

const cornerValues = ({ corners, law }) => {
  const found = [];
  for (let i = 0; i < corners.length; i += 2) found.push(valueAt(law, corners[i], corners[i + 1]));
  return found;
};

function spread(values) {
  let bottom = Infinity, top = -Infinity;
  for (const value of values) if (!Number.isNaN(value)) { bottom = Math.min(bottom, value); top = Math.max(top, value); }
  return bottom <= top ? { bottom, top } : { bottom: 0, top: 0 };
}

// The colour of a value of a field.
function colourOf(field, value) {
  if (field.signed) {
    const size = Math.max(Math.abs(field.bottom), Math.abs(field.top));
    return diverging(size > 0 ? value / size : 0);
  }
  return sequential(field.top > field.bottom ? (value - field.bottom) / (field.top - field.bottom) : 0.5);
}

// The largest change of slope on show; smaller ones are drawn fainter.
function steepest(bends) {
  return bends.reduce((most, bend) => Math.max(most, Math.abs(bend.jump)), 0);
}
