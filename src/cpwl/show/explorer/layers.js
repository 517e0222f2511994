// The network layer by layer. A small network is a graph: each node is a map of what its neuron computes, each line a
// weight. A larger one has a square for each neuron, filled where it is on at the point. One of them may be selected.

const GRAPH = 200, LINKS = 700; // neurons of a graph; lines that are drawn without a neuron being selected
const DOTS = 64; // pixels of a node's map, in each direction
const FAINT = 1e-9; // of the largest value: less is what rounding leaves of 0

// Where the nodes of all layers go, for a given width of the picture. The outputs of a graph are its last row.
function layerPlan(layers, width) {
  const hidden = layers.slice(0, -1), total = hidden.reduce((sum, layer) => sum + layer.bias.length, 0);
  const graph = total <= GRAPH;
  const largest = Math.max(1, ...hidden.map((layer) => layer.bias.length));
  const side = graph ? (largest * 64 <= width ? 56 : 40) : largest > 1500 ? 5 : largest > 300 ? 8 : 13, gap = graph ? 8 : 3;
  const perRow = Math.max(1, Math.floor((width - 8) / (side + gap)));
  let top = 0;
  const rows = (graph ? layers : hidden).map((layer) => {
    const start = top + 20;
    top = start + Math.ceil(layer.bias.length / perRow) * (side + gap) + (graph ? 34 : 12);
    const across = Math.min(layer.bias.length, perRow) * (side + gap) - gap;
    return { start, left: graph ? Math.max(2, Math.round((width - across) / 2)) : 2, count: layer.bias.length };
  });
  return { side, gap, graph, perRow, rows, height: Math.max(top - (graph ? 20 : 0), 1) };
}

function placeOf(plan, l, r) {
  const step = plan.side + plan.gap;
  return [plan.rows[l].left + (r % plan.perRow) * step, plan.rows[l].start + Math.floor(r / plan.perRow) * step];
}

function drawLayers(canvas, view) {
  const layers = view.network.layers;
  const plan = layerPlan(layers, canvas.parentElement.clientWidth);
  canvas.style.height = plan.height + "px";
  const { pen } = sharp(canvas);
  const feeds = view.neuron ? feedersOf(layers, view.neuron) : new Set();
  const nodes = plan.graph ? nodeMaps(view) : null;
  if (plan.graph) drawLinks(pen, plan, layers, view.neuron);
  pen.font = "12px system-ui, sans-serif";
  plan.rows.forEach(({ start, count: size }, l) => {
    const last = l === layers.length - 1;
    const on = view.sums[l].reduce((total, z) => total + (z > 0), 0);
    const title = last ? (size > 1 ? "outputs" : "output") : `layer ${l + 1}: ${count(size)} neuron${size === 1 ? "" : "s"}, ${count(on)} on`;
    pen.fillStyle = themeColour("--card");
    pen.fillRect(0, start - 18, pen.measureText(title).width + 6, 16);
    pen.fillStyle = themeColour("--soft");
    pen.fillText(title, 2, start - 6);
    for (let r = 0; r < size; r++) drawNeuron(pen, plan, l, r, {
      map: nodes && nodes[l][r],
      on: last || view.sums[l][r] > 0,
      selected: !last && view.neuron && view.neuron.layer === l && view.neuron.index === r,
      feeds: view.neuron && view.neuron.layer === l + 1 && feeds.has(r),
    });
  });
  return plan;
}

function drawNeuron(pen, plan, l, r, { map, on, selected, feeds }) {
  const [x, y] = placeOf(plan, l, r);
  pen.fillStyle = on ? themeColour("--ours") : themeColour("--page");
  if (map) pen.drawImage(map, x, y, plan.side, plan.side);
  else pen.fillRect(x, y, plan.side, plan.side);
  pen.lineWidth = selected ? 3 : feeds || (map && on) ? 2 : 1;
  pen.strokeStyle = selected ? "#c2185b" : feeds ? css(CONVEX) : map && on ? themeColour("--ours") : themeColour("--end");
  pen.strokeRect(x + 0.5, y + 0.5, plan.side - 1, plan.side - 1);
}

// Weights as lines: orange where positive, blue where negative; of a selected neuron its own stand out.
function drawLinks(pen, plan, layers, neuron) {
  const few = weightCount(layers) <= LINKS;
  for (let l = 1; l < layers.length; l++) {
    const most = layers[l].weights.reduce((size, w) => Math.max(size, Math.abs(w)), 0) || 1;
    for (let r = 0; r < layers[l].bias.length; r++)
      for (let e = layers[l].indptr[r]; e < layers[l].indptr[r + 1]; e++) {
        const own = neuron && ((neuron.layer === l && neuron.index === r) || (neuron.layer === l - 1 && neuron.index === layers[l].indices[e]));
        if (!own && !few) continue;
        const [x0, y0] = placeOf(plan, l - 1, layers[l].indices[e]), [x1, y1] = placeOf(plan, l, r);
        const share = Math.abs(layers[l].weights[e]) / most;
        pen.strokeStyle = css(layers[l].weights[e] > 0 ? CONVEX : CONCAVE, own ? 1 : neuron ? 0.1 : 0.2 + 0.4 * share);
        pen.lineWidth = (own ? 1 : 0.7) + 1.5 * share;
        pen.beginPath();
        pen.moveTo(x0 + plan.side / 2, y0 + plan.side);
        pen.lineTo(x1 + plan.side / 2, y1);
        pen.stroke();
      }
  }
}

// For each neuron, its value at each pixel of a small map of the plane on show (or its graph on a line); grey where it is off.
function nodeMaps({ network, axes, at, data }) {
  const key = [state.view, axes, data.n > 2 ? Array.from(at, (v, k) => (axes.includes(k) ? 0 : v)) : "", themeColour("--line")].join("|");
  if (scene.nodesKey === key) return scene.nodes;
  const wide = DOTS, tall = data.n > 1 ? DOTS : 1, point = Float64Array.from(at);
  const values = network.layers.map((layer) => Array.from(layer.bias, () => new Float64Array(wide * tall)));
  for (let v = 0; v < tall; v++)
    for (let u = 0; u < wide; u++) {
      axes.forEach((axis, side) => { const [low, high] = data.box[axis]; point[axis] = low + (high - low) * (side ? (tall - v - 0.5) / tall : (u + 0.5) / wide); });
      sums(network.layers, point).forEach((z, l) => z.forEach((value, r) => { values[l][r][v * wide + u] = value; }));
    }
  scene.nodesKey = key;
  scene.nodes = values.map((layer, l) => layer.map((grid) => nodeMap(grid, tall, l === values.length - 1)));
  return scene.nodes;
}

function nodeMap(grid, tall, isOutput) {
  const { bottom, top } = isOutput ? spread(grid) : { bottom: 0, top: Math.max(0, ...grid) };
  const share = (value) => (top > bottom ? (value - bottom) / (top - bottom) : 0.5);
  const off = rgb(themeColour("--line")), image = new ImageData(DOTS, DOTS);
  for (let v = 0; v < DOTS; v++)
    for (let u = 0; u < DOTS; u++) {
      const value = grid[(tall > 1 ? v * DOTS : 0) + u];
      const above = tall === 1 && share(value) < 1 - (v + 1) / DOTS; // over the graph
      image.data.set([...((!isOutput && value <= FAINT * top) || above ? off : sequential(share(value))), 255], 4 * (v * DOTS + u));
    }
  const small = make("canvas", { width: DOTS, height: DOTS });
  small.getContext("2d").putImageData(image, 0, 0);
  return small;
}

function feedersOf(layers, { layer, index }) {
  const found = new Set();
  if (layer > 0) for (let e = layers[layer].indptr[index]; e < layers[layer].indptr[index + 1]; e++) found.add(layers[layer].indices[e]);
  return found;
}

// The hidden neuron at a place of the picture, or null.
function neuronAt(plan, layers, x, y) {
  for (let l = 0; l < layers.length - 1; l++)
    for (let r = 0; r < layers[l].bias.length; r++) {
      const [left, top] = placeOf(plan, l, r);
      if (x >= left && x < left + plan.side + plan.gap && y >= top && y < top + plan.side + plan.gap) return { layer: l, index: r };
    }
  return null;
}

// A neuron in words: what goes into it, and where it goes.
function neuronText(layers, { layer, index }, names, value) {
  const own = layers[layer];
  const from = own.indptr[index], to = own.indptr[index + 1];
  const terms = [];
  for (let e = from; e < to && terms.length < 6; e++) terms.push(`${number(own.weights[e])} ${layer ? "neuron " + own.indices[e] : names[own.indices[e]]}`);
  const more = to - from > 6 ? ` + … (${count(to - from)} in all)` : "";
  let used = 0;
  for (const k of layers[layer + 1].indices) used += k === index;
  const state = value === undefined ? "" : value > 0 ? `; on here: ${number(value)}` : `; off here: ${number(value)}`;
  const inputs = [...terms, ...(own.bias[index] !== 0 || !terms.length ? [number(own.bias[index])] : [])].join(" + ").replaceAll("+ −", "− ");
  return `neuron ${index} of layer ${layer + 1}: max(0, ${inputs}${more})${state}; feeds ${count(used)} of the next layer`;
}

// The plane as the first layers fold it: cells in which each of their neurons is on or off; null if they are too many.
function cellsAfter(view, depth) {
  const box = shownBox(), key = [state.view, depth, box, Array.from(view.at, (v, k) => (view.axes.includes(k) ? 0 : v))].join("|");
  if (!scene.cells || scene.cells.length > 40) scene.cells = new Map();
  if (!scene.cells.has(key)) scene.cells.set(key, regionsOnPlane(view.network.layers.slice(0, depth + 1), view.data.n, view.axes, view.at, box));
  return scene.cells.get(key);
}

// Cells, with the lines that each layer adds in a colour of its own.
function paintCells(pen, frame, view) {
  const depth = foldOf(view.network);
  const cells = cellsAfter(view, depth);
  if (!cells) return;
  pen.globalAlpha = 0.75;
  cells.forEach(({ corners }, k) => { pen.beginPath(); tracePolygon(pen, frame, corners); pen.fillStyle = css(category(k)); pen.fill(); });
  pen.globalAlpha = 1;
  for (let l = depth; l > 0; l--) {
    const [width, colour] = [l === depth ? 2.2 : 1.6, LINES[(l - 1) % LINES.length]];
    for (const [line, style] of [[width + 1.5, "rgba(255,255,255,.8)"], [width, colour]])
      for (const { corners } of cellsAfter(view, l)) { pen.beginPath(); tracePolygon(pen, frame, corners); pen.lineWidth = line; pen.strokeStyle = style; pen.stroke(); }
  }
}

const foldOf = (network) => (state.fold === null ? network.layers.length - 1 : Math.min(state.fold, network.layers.length - 1));
