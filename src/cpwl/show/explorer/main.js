// One state, and everything that is drawn from it.

const data = readData();
const find = (id) => document.getElementById(id);
const state = {
  view: 0, // the number of an item; as many as there are items: their difference
  output: 0,
  axes: data.n > 1 ? [0, 1] : [0],
  at: Float64Array.from(data.at),
  mode: "values",
  neuron: null,
  turn: { ...TURN },
  window: null, // what the map shows of its two inputs; null: all of it
  pinned: false,
  fold: null, // of how many layers the cells are on show; null: of all
  step: null, // of the closed loop on show; null: all of them
};
const scene = { field: null, bends: null, hinge: null, sums: null, frame: null, plan: null, version: 0 };

const isDifference = () => state.view >= data.items.length;
const item = () => data.items[isDifference() ? 0 : state.view];
const shownNetwork = () => [item(), ...data.items].map((one) => one.network).find((network) => network && network.layers) || null;

// The box, as far as it is in the window. Pieces are polygons and are cut once; regions of a network that was not taken
// apart, and values on a grid, are found again in the window.
const shown = () => state.axes.map((axis, side) => (state.window ? state.window[side] : data.box[axis]));
const shownBox = () => data.box.map((row, k) => (state.axes.includes(k) ? shown()[state.axes.indexOf(k)] : row));
const isSampled = () => data.n > 1 && (isDifference() || !item().pieces);

function refield() {
  const fields = (one) => (data.n === 1 ? lineField(one, data, state.output) : planeField(one, one.pieces ? data : { ...data, box: shownBox() }, state.output, state.axes, state.at));
  if (isDifference()) {
    const pair = data.items.map(fields);
    scene.field = data.n === 1 ? lineDifference(...pair, data.gap, data.box[0]) : differenceField(...pair, data.gap, rectangle(shownBox(), state.axes));
    scene.others = [];
  } else {
    scene.field = fields(item());
    scene.others = data.n === 1 ? data.items.filter((one) => one !== item()).map(fields) : [];
  }
  scene.bends = data.n === 1 ? (item().pieces ? lineBends(scene.field) : []) : scene.field.shapes ? bendsOf(scene.field.shapes, scene.field.locator) : null;
  rehinge();
}

function rehinge() {
  const network = shownNetwork();
  scene.version += 1; // what was painted is of no use any more
  scene.hinge = null;
  if (!network || !state.neuron) return;
  const { layer, index } = state.neuron;
  scene.hinge = data.n === 1 ? hingeOnLine(network.layers, layer, index, data.box[0]) : hingeOnPlane(network.layers, data.n, layer, index, state.axes, state.at, data.box);
}

const viewNow = () => ({ ...state, ...scene, data, shown: shown(), marks: marks(), network: shownNetwork() });

function draw() {
  const network = shownNetwork();
  scene.sums = network ? sums(network.layers, state.at) : null;
  scene.loop = data.plant && !isDifference() && (item().pieces || network) ? runLoop(item(), data, state.at) : null;
  const view = viewNow();
  scene.frame = data.n === 1 ? drawCurve(find("map"), view) : drawMap(find("map"), view);
  if (data.n > 1) drawSurface(find("surface"), view);
  if (network) scene.plan = drawLayers(find("layers"), view);
  find("loop").hidden = !scene.loop;
  if (scene.loop) drawLoop(view);
  readout(view);
  legend(view);
  tip();
  find("pin").setAttribute("aria-pressed", state.pinned);
  find("zoom-all").disabled = state.window === null;
  remember();
}

const inWindow = (point) => point.every((v, k) => data.box[k][0] <= v && v <= data.box[k][1]);

// Findings on the map: those whose witness is in the window, and in a slice near to it.
function marks() {
  const near = (point) => data.n <= 2 || point.every((v, k) => state.axes.includes(k) || Math.abs(v - state.at[k]) <= 0.02 * (data.box[k][1] - data.box[k][0]));
  return data.findings.filter((finding) => finding.point && inWindow(finding.point) && near(finding.point));
}

function pieceOf() {
  const [x, y] = state.axes.map((axis) => state.at[axis]);
  const s = scene.field.find(x, y);
  if (s < 0) return null;
  return data.n === 1 ? scene.field.segments[s][4] : scene.field.shapes[s].piece;
}

function lawOf(pieces, q) {
  const at = q * pieces.outputs + state.output;
  const exact = pieces.texts && pieces.texts[pieces.component[at]];
  return exact || lawText(Array.from(pieces.gradient.slice(at * data.n, (at + 1) * data.n)), pieces.offset[at], data.names);
}

function readout(view) {
  const [x, y] = state.axes.map((axis) => state.at[axis]);
  const value = scene.field.value(x, y);
  const lines = [["point", !data.named || data.n > 4 ? pointText(state.at) : data.labels.map((name, k) => `${name} = ${number(state.at[k])}`).join(", ")], [isDifference() ? "first − second" : data.values[state.output], number(value), isDifference() ? undefined : "value"]];
  const q = isDifference() ? null : pieceOf();
  if (q !== null && item().pieces) lines.push(["piece", `${q} of ${count(item().pieces.count)}`], ["law", lawOf(item().pieces, q)]);
  if (view.network) {
    const output = scene.sums[scene.sums.length - 1][state.output];
    const on = scene.sums.slice(0, -1).map((z) => z.reduce((total, v) => total + (v > 0), 0));
    const all = scene.sums.slice(0, -1).reduce((total, z) => total + z.length, 0);
    lines.push(["network", number(output)], ["active neurons", `${count(on.reduce((a, b) => a + b, 0))} of ${count(all)}` + (on.length > 1 ? ` (${on.join(", ")} by layer)` : "")]);
    const at = state.neuron && scene.sums[state.neuron.layer][state.neuron.index];
    find("neuron-text").textContent = state.neuron ? neuronText(view.network.layers, state.neuron, data.names, at) + (scene.hinge && scene.hinge.exact === false ? " (hinge from a grid)" : "") : "Select a neuron to show its hinge on the map; the side on which it is active is lighter. A blue frame marks neurons that are active at the point. Lines are weights: orange positive, blue negative.";
  }
  find("readout").replaceChildren(...lines.flatMap(([name, text, id = name]) => [make("dt", {}, name), make("dd", { id: "read-" + id.replace(/\W+/g, "-") }, text)]));
}

function legend(view) {
  const { field } = scene;
  const bent = state.mode === "bends" && scene.bends;
  const stops = Array.from({ length: 17 }, (_, k) => css(bent ? diverging(k / 8 - 1) : colourOf({ ...field, bottom: 0, top: 1, signed: false }, k / 16)));
  const signed = Array.from({ length: 17 }, (_, k) => css(diverging(k / 8 - 1)));
  const most = bent ? steepest(scene.bends) : 0, size = Math.max(Math.abs(field.bottom), Math.abs(field.top));
  const ends = bent ? [-most, most] : field.signed ? [-size, size] : [field.bottom, field.top];
  find("legend-bar").style.background = `linear-gradient(to right, ${(field.signed ? signed : stops).join(",")})`;
  find("legend-low").textContent = number(ends[0]) + (bent ? " concave" : "");
  find("legend-high").textContent = number(ends[1]) + (bent ? " convex" : "");
  find("legend-name").textContent = bent ? "change of slope" : isDifference() ? "difference" : data.values[state.output];
  const kinds = field.kinds && field.kinds[state.mode];
  const cells = state.mode === "cells" && view.network ? cellsAfter(view, foldOf(view.network)) : undefined;
  const folded = cells === undefined ? "" : cells ? `${count(cells.length)} cells after ${foldOf(view.network)} of ${view.network.layers.length - 1} hidden layers; lines by layer` : "too many cells: zoom in";
  find("legend").hidden = cells !== undefined || (data.n === 1 && !bent) || Boolean(kinds) || (isDifference() && data.gap === 0);
  const bounded = isDifference() && data.gap !== null ? (data.gap === 0 ? "proved equal: the difference is 0" : `proved: at most ${number(data.gap)}`) : "";
  const drawn = folded ? folded : bounded ? bounded : kinds && state.mode === "laws" ? `${count(kinds.count)} laws on ${count(field.shapes.length)} pieces in view, a colour for each law` : field.shapes ? `${count(field.shapes.length)} pieces in view` : data.n === 1 ? "" : "values on a grid";
  find("seen").textContent = drawn;
}

// Changes of the state: each redraws what depends on it.
function moveTo(point, redo = false) {
  const changed = point.some((v, k) => !state.axes.includes(k) && v !== state.at[k]);
  state.at = Float64Array.from(point, (v, k) => Math.min(Math.max(v, data.box[k][0]), data.box[k][1]));
  document.querySelectorAll("#sliders input").forEach((input) => { input.value = state.at[input.dataset.axis]; input.nextElementSibling.textContent = number(state.at[input.dataset.axis]); });
  if (changed || redo) refield();
  draw();
}

function select(neuron) {
  state.neuron = neuron;
  if (neuron) { find("pick-layer").value = neuron.layer; find("pick-neuron").value = neuron.index; find("pick-neuron").max = shownNetwork().layers[neuron.layer].bias.length - 1; }
  rehinge();
  draw();
}

function setAxis(side, axis) {
  const other = state.axes[1 - side];
  state.axes[side] = axis;
  state.window = null;
  if (other === axis) state.axes[1 - side] = state.axes[side] === 0 ? 1 : 0;
  controls();
  refield();
  draw();
}
