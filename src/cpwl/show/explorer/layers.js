// The network layer by layer: a square for each neuron, filled where it is on at the point; one of them may be selected.

const GAP = 3;

// Where the squares of all hidden layers go, for a given width of the picture.
function layerPlan(layers, width) {
  const hidden = layers.slice(0, -1);
  const largest = Math.max(1, ...hidden.map((layer) => layer.bias.length));
  const side = largest > 1500 ? 5 : largest > 300 ? 8 : 13;
  const perRow = Math.max(1, Math.floor((width - 8) / (side + GAP)));
  let top = 0;
  const rows = hidden.map((layer) => {
    const start = top + 20;
    top = start + Math.ceil(layer.bias.length / perRow) * (side + GAP) + 12;
    return { start, count: layer.bias.length };
  });
  return { side, perRow, rows, height: Math.max(top, 1) };
}

function drawLayers(canvas, view) {
  const layers = view.network.layers;
  const plan = layerPlan(layers, canvas.parentElement.clientWidth);
  canvas.style.height = plan.height + "px";
  const { pen } = sharp(canvas);
  const feeds = view.neuron ? feedersOf(layers, view.neuron) : new Set();
  pen.font = "12px system-ui, sans-serif";
  plan.rows.forEach(({ start, count: size }, l) => {
    const on = view.sums ? view.sums[l].reduce((total, z) => total + (z > 0), 0) : 0;
    pen.fillStyle = themeColour("--soft");
    pen.fillText(`layer ${l + 1}: ${count(size)} neurons, ${count(on)} on`, 2, start - 6);
    for (let r = 0; r < size; r++) drawNeuron(pen, plan, start, r, view.sums && view.sums[l][r] > 0, {
      selected: view.neuron && view.neuron.layer === l && view.neuron.index === r,
      feeds: view.neuron && view.neuron.layer === l + 1 && feeds.has(r),
    });
  });
  return plan;
}

function drawNeuron(pen, plan, start, r, on, { selected, feeds }) {
  const [x, y] = [2 + (r % plan.perRow) * (plan.side + GAP), start + Math.floor(r / plan.perRow) * (plan.side + GAP)];
  pen.fillStyle = on ? themeColour("--ours") : themeColour("--page");
  pen.fillRect(x, y, plan.side, plan.side);
  pen.lineWidth = selected ? 3 : feeds ? 2 : 1;
  pen.strokeStyle = selected ? "#c2185b" : feeds ? css(CONVEX) : themeColour("--end");
  pen.strokeRect(x + 0.5, y + 0.5, plan.side - 1, plan.side - 1);
}

function feedersOf(layers, { layer, index }) {
  const found = new Set();
  if (layer > 0) for (let e = layers[layer].indptr[index]; e < layers[layer].indptr[index + 1]; e++) found.add(layers[layer].indices[e]);
  return found;
}

// The neuron at a place of the picture, or null.
function neuronAt(plan, x, y) {
  for (let l = 0; l < plan.rows.length; l++) {
    const { start, count: size } = plan.rows[l];
    const row = Math.floor((y - start) / (plan.side + GAP)), column = Math.floor((x - 2) / (plan.side + GAP));
    const index = row * plan.perRow + column;
    if (row >= 0 && column >= 0 && column < plan.perRow && index < size && y >= start && y < start + Math.ceil(size / plan.perRow) * (plan.side + GAP)) return { layer: l, index };
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
