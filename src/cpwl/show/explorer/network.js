// A network in the browser: its values, who feeds a neuron, and its linear regions on a plane.

// What goes into each neuron, layer by layer, at a point; the last layer is the output.
function sums(layers, point) {
  const found = [];
  let input = point;
  for (const layer of layers) {
    const z = new Float64Array(layer.bias);
    for (let r = 0; r < z.length; r++)
      for (let e = layer.indptr[r]; e < layer.indptr[r + 1]; e++) z[r] += layer.weights[e] * input[layer.indices[e]];
    found.push(z);
    input = z.map((v) => (v > 0 ? v : 0));
  }
  return found;
}

function networkValue(layers, point, output) {
  const all = sums(layers, point);
  return all[all.length - 1][output];
}

const weightCount = (layers) => layers.reduce((total, layer) => total + layer.weights.length, 0);

// For each layer up to that of a neuron, the neurons on which it depends.
function ancestors(layers, depth, neuron) {
  const needed = Array.from({ length: depth + 1 }, () => new Set());
  needed[depth].add(neuron);
  for (let l = depth; l > 0; l--)
    for (const r of needed[l])
      for (let e = layers[l].indptr[r]; e < layers[l].indptr[r + 1]; e++) needed[l - 1].add(layers[l].indices[e]);
  return needed.map((set) => [...set].sort((a, b) => a - b));
}

// The network with only the neurons that one of them needs, up to it: a small network for questions about that neuron.
function networkOf(layers, depth, neuron) {
  const needed = ancestors(layers, depth, neuron);
  return needed.map((rows, l) => {
    const place = l ? new Map(needed[l - 1].map((old, k) => [old, k])) : null;
    const indptr = [0], indices = [], weights = [];
    for (const r of rows) {
      for (let e = layers[l].indptr[r]; e < layers[l].indptr[r + 1]; e++) {
        indices.push(place ? place.get(layers[l].indices[e]) : layers[l].indices[e]);
        weights.push(layers[l].weights[e]);
      }
      indptr.push(indices.length);
    }
    return { indptr, indices, weights, bias: rows.map((r) => layers[l].bias[r]) };
  });
}

// The inputs on a plane as affine forms of its two coordinates.
function inputForms(n, axes, at) {
  const forms = new Float64Array(3 * n);
  for (let k = 0; k < n; k++) forms[3 * k + 2] = at[k];
  axes.forEach((axis, side) => { forms.fill(0, 3 * axis, 3 * axis + 3); forms[3 * axis + side] = 1; });
  return forms;
}

function affineImage(layer, forms) {
  const image = new Float64Array(3 * layer.bias.length);
  for (let r = 0; r < layer.bias.length; r++) {
    image[3 * r + 2] = layer.bias[r];
    for (let e = layer.indptr[r]; e < layer.indptr[r + 1]; e++)
      for (let k = 0; k < 3; k++) image[3 * r + k] += layer.weights[e] * forms[3 * layer.indices[e] + k];
  }
  return image;
}

function rangeOn(corners, a, b, c) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < corners.length; i += 2) {
    const value = a * corners[i] + b * corners[i + 1] + c;
    low = Math.min(low, value); high = Math.max(high, value);
  }
  return [low, high];
}

// Every linear region of the network on a rectangle of a plane, with the forms of its last layer; null if they are too many.
function regionsOnPlane(layers, n, axes, at, box, { most = 6000, milliseconds = 900 } = {}) {
  const started = performance.now();
  let regions = [{ corners: rectangle(box, axes), forms: inputForms(n, axes, at) }];
  for (let l = 0; l < layers.length; l++) {
    const last = l === layers.length - 1;
    const next = [];
    for (const region of regions) {
      const image = affineImage(layers[l], region.forms);
      if (last) next.push({ corners: region.corners, forms: image });
      else next.push(...cutByNeurons(region.corners, image));
      if (next.length > most || performance.now() - started > milliseconds) return null;
    }
    regions = next;
  }
  return regions;
}

// Cut a region where a neuron changes its sign; then neurons that are off give 0.
function cutByNeurons(corners, image) {
  let parts = [corners];
  for (let r = 0; r < image.length; r += 3) {
    const [a, b, c] = [image[r], image[r + 1], image[r + 2]];
    const cut = [];
    for (const part of parts) {
      const [low, high] = rangeOn(part, a, b, c);
      const slack = 1e-12 * Math.max(-low, high);
      if (low < -slack && high > slack) {
        for (const half of [clip(part, a, b, -c), clip(part, -a, -b, c)]) if (half.length >= 6) cut.push(half);
      } else cut.push(part);
    }
    parts = cut;
  }
  return parts.map((part) => {
    const [x, y] = middle(part);
    const forms = new Float64Array(image);
    for (let r = 0; r < forms.length; r += 3) if (forms[r] * x + forms[r + 1] * y + forms[r + 2] <= 0) forms.fill(0, r, r + 3);
    return { corners: part, forms };
  });
}

// The hinge of a neuron on a plane: where what goes into it is 0, and where it is on.
function hingeOnPlane(layers, n, depth, neuron, axes, at, box) {
  const small = networkOf(layers, depth, neuron);
  const regions = regionsOnPlane(small, n, axes, at, box);
  return regions ? hingeOfRegions(regions) : hingeOfGrid(small, axes, at, box);
}

function hingeOfRegions(regions) {
  const segments = [], on = [];
  for (const { corners, forms } of regions) {
    const [a, b, c] = forms;
    const [low, high] = rangeOn(corners, a, b, c);
    if (high > 0) on.push(low >= 0 ? corners : clip(corners, -a, -b, c));
    if (low < 0 && high > 0) {
      const ends = [];
      for (let i = 0; i < corners.length; i += 2) {
        const j = (i + 2) % corners.length;
        const u = a * corners[i] + b * corners[i + 1] + c, v = a * corners[j] + b * corners[j + 1] + c;
        if ((u < 0) !== (v < 0)) {
          const share = u / (u - v);
          ends.push(corners[i] + share * (corners[j] - corners[i]), corners[i + 1] + share * (corners[j + 1] - corners[i + 1]));
        }
      }
      if (ends.length === 4) segments.push(ends);
    }
  }
  return { segments, on: on.filter((part) => part.length >= 6), exact: true };
}

// Too many regions: the sign on a grid, cell by cell.
function hingeOfGrid(layers, axes, at, box) {
  const side = Math.max(24, Math.min(160, Math.floor(Math.sqrt(6e7 / Math.max(1, weightCount(layers))))));
  const [[left, right], [low, high]] = [box[axes[0]], box[axes[1]]];
  const point = Float64Array.from(at);
  const on = [], segments = [];
  const wide = (right - left) / side, tall = (high - low) / side;
  const signs = [];
  for (let v = 0; v < side; v++)
    for (let u = 0; u < side; u++) {
      point[axes[0]] = left + (u + 0.5) * wide;
      point[axes[1]] = low + (v + 0.5) * tall;
      signs.push(networkValue(layers, point, 0) > 0);
    }
  for (let v = 0; v < side; v++)
    for (let u = 0; u < side; u++) {
      const [x, y, here] = [left + u * wide, low + v * tall, signs[v * side + u]];
      if (here) on.push([x, y, x + wide, y, x + wide, y + tall, x, y + tall]);
      if (u + 1 < side && signs[v * side + u + 1] !== here) segments.push([x + wide, y, x + wide, y + tall]);
      if (v + 1 < side && signs[(v + 1) * side + u] !== here) segments.push([x, y + tall, x + wide, y + tall]);
    }
  return { segments, on, exact: false };
}

// The same on a line: the intervals where a neuron is on, ends by bisection between neighbours on a fine grid.
function hingeOnLine(layers, depth, neuron, [low, high]) {
  const small = networkOf(layers, depth, neuron);
  const f = (x) => networkValue(small, [x], 0);
  const steps = 2048, intervals = [], zeros = [];
  let before = f(low), began = before > 0 ? low : null;
  for (let k = 1; k <= steps; k++) {
    const x = low + ((high - low) * k) / steps, here = f(x);
    if (here > 0 !== before > 0) {
      let [a, b] = [low + ((high - low) * (k - 1)) / steps, x];
      for (let i = 0; i < 50; i++) { const m = (a + b) / 2; if (f(m) > 0 === before > 0) a = m; else b = m; }
      zeros.push(b);
      if (here > 0) began = b;
      else { intervals.push([began, b]); began = null; }
    }
    before = here;
  }
  if (began !== null) intervals.push([began, high]);
  return { intervals, zeros };
}
