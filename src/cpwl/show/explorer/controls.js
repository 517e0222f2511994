// What the reader can do: point, turn, slide, choose; all of it with the keyboard, too.

function fromEvent(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function pointOnMap(event) {
  if (state.step !== null && !event.buttons) return; // the loop is running
  clearTimeout(scene.timer);
  state.step = null;
  const [x, y] = scene.frame.inverse(...fromEvent(find("map"), event));
  const point = Float64Array.from(state.at);
  point[state.axes[0]] = x;
  if (data.n > 1) point[state.axes[1]] = y;
  moveTo(point);
}

function keyOnMap(event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const step = steps[event.key];
  if (event.key === "+" || event.key === "=") return zoomBy(1.6);
  if (event.key === "-") return zoomBy(1 / 1.6);
  if (event.key === "0") return zoomTo(state.axes.map((axis) => data.box[axis]));
  if (event.key === "Enter" || (event.key === "Escape" && state.pinned)) return setPin(event.key === "Enter" && !state.pinned);
  if (!step) return;
  event.preventDefault();
  scene.tip = true;
  const point = Float64Array.from(state.at);
  state.axes.forEach((axis, side) => { point[axis] += (step[side] * (shown()[side][1] - shown()[side][0])) / (event.shiftKey ? 10 : 100); });
  moveTo(point);
}

function turnSurface(canvas) {
  let before = null;
  canvas.addEventListener("pointerdown", (event) => { before = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { before = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!before) return;
    turnBy((event.clientX - before[0]) / 150, (event.clientY - before[1]) / 150);
    before = [event.clientX, event.clientY];
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (!steps[event.key]) return;
    event.preventDefault();
    turnBy(...steps[event.key]);
  });
}

function turnBy(azimuth, elevation) {
  state.turn.azimuth += azimuth;
  state.turn.elevation = Math.min(Math.PI / 2, Math.max(0.05, state.turn.elevation + elevation));
  draw();
}

function keyOnLayers(event) {
  const network = shownNetwork();
  const now = state.neuron || { layer: 0, index: -1 };
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -scene.plan.perRow, ArrowDown: scene.plan.perRow };
  if (event.key === "Escape") return select(null);
  if (!(event.key in steps)) return;
  event.preventDefault();
  let { layer, index } = now;
  index += steps[event.key];
  const last = network.layers.length - 2;
  if (index < 0 && layer > 0) { layer -= 1; index = network.layers[layer].bias.length - 1; }
  else if (index >= network.layers[layer].bias.length && layer < last) { layer += 1; index = 0; }
  select({ layer, index: Math.min(Math.max(index, 0), network.layers[layer].bias.length - 1) });
}

function choice(label, id, options, value, change) {
  const box = make("select", { id, onchange: (event) => change(event.target.value) }, ...options.map(([v, text]) => make("option", { value: v }, text)));
  box.value = value;
  return make("label", {}, label + " ", box);
}

// In a plane, each law or each piece may have a colour, as pictures of explicit controllers do.
const modes = () => [["values", "by value"], ...(data.n > 1 ? [["laws", "by law"], ["pieces", "by piece"]] : []), ...(data.n > 1 && shownNetwork() ? [["cells", "cells of the network"]] : []), ["bends", "bends by change of slope"]];

function controls() {
  const parts = [];
  if (data.items.length > 1) {
    const views = data.items.map((one, k) => [k, one.name]);
    parts.push(choice("show", "pick-view", [...views, [data.items.length, "difference: first − second"]], state.view, (v) => { state.view = Number(v); state.neuron = null; controls(); networkSection(); refield(); draw(); }));
  }
  if (data.m > 1) parts.push(choice("output", "pick-output", Array.from({ length: data.m }, (_, k) => [k, data.named ? data.values[k] : k]), state.output, (v) => { state.output = Number(v); refield(); draw(); }));
  if (data.n > 2) [0, 1].forEach((side) => parts.push(choice(side ? "up" : "across", "pick-axis-" + side, data.names.map((name, k) => [k, name]), state.axes[side], (v) => setAxis(side, Number(v)))));
  parts.push(choice("colour", "pick-mode", modes(), state.mode, (v) => { state.mode = v; draw(); }));
  find("controls").replaceChildren(...parts);
  find("sliders").replaceChildren(...(data.n > 2 ? data.names.map((name, k) => (state.axes.includes(k) ? null : slider(name, k))).filter(Boolean) : []));
}

function slider(name, k) {
  const [low, high] = data.box[k];
  const slide = (event) => { const point = Float64Array.from(state.at); point[k] = Number(event.target.value); moveTo(point); };
  const input = make("input", { type: "range", id: "slide-" + k, min: low, max: high, step: (high - low) / 200, value: state.at[k], "data-axis": k, oninput: slide });
  input.value = state.at[k];
  return make("label", {}, name + " ", input, make("output", {}, number(state.at[k])));
}

function networkSection() {
  const network = shownNetwork();
  const absent = data.items.map((one) => one.network && one.network.absent).find(Boolean);
  find("network").hidden = !network && !absent;
  find("network-pick").hidden = find("layers").hidden = !network;
  find("network-about").textContent = network ? network.about : absent || "";
  if (!network) return;
  const hidden = network.layers.slice(0, -1);
  find("network-pick").hidden = find("layers").hidden = hidden.length === 0;
  find("fold-label").hidden = data.n === 1;
  find("fold").max = hidden.length;
  find("fold").value = foldOf(network);
  find("pick-layer").replaceChildren(...hidden.map((_, l) => make("option", { value: l }, l + 1)));
  find("pick-neuron").max = hidden.length ? hidden[0].bias.length - 1 : 0;
}

function wire() {
  const map = find("map"), layers = find("layers");
  wireMap(map);
  map.addEventListener("keydown", keyOnMap);
  if (data.plant) find("loop-play").addEventListener("click", playLoop);
  if (data.n > 1) {
    turnSurface(find("surface"));
    find("save-surface").addEventListener("click", () => savePng(find("surface"), fileName("_surface.png")));
  }
  layers.addEventListener("click", (event) => { const found = neuronAt(scene.plan, shownNetwork().layers, ...fromEvent(layers, event)); if (found) select(found); });
  layers.addEventListener("keydown", keyOnLayers);
  const picked = () => {
    const layer = Number(find("pick-layer").value), most = shownNetwork().layers[layer].bias.length - 1;
    select({ layer, index: Math.min(Math.max(0, Math.round(Number(find("pick-neuron").value) || 0)), most) });
  };
  find("pick-layer").addEventListener("change", picked);
  find("pick-neuron").addEventListener("change", picked);
  find("fold").addEventListener("input", () => {
    state.fold = Number(find("fold").value);
    state.mode = "cells";
    controls();
    draw();
  });
  find("pick-none").addEventListener("click", () => select(null));
  find("theme").addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    draw();
  });
  addEventListener("message", ({ data }) => { // the page around a frame chooses its colours
    if (!["light", "dark"].includes(data?.theme)) return;
    document.documentElement.dataset.theme = data.theme;
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(find("pictures"));
}

function goTo(finding) {
  moveTo(finding.point, true);
  find("function").scrollIntoView({ behavior: "smooth" });
  find("map").focus({ preventScroll: true });
}

function build() {
  document.body.classList.add(data.n === 1 ? "line" : "plane");
  find("title").textContent = data.title;
  find("lead").replaceChildren(...data.facts.map(([name, text]) => make("span", { class: "fact" }, make("b", {}, text), " " + name)));
  find("chips").replaceChildren(...data.chips.map(([word, kind]) => make("span", { class: "chip " + kind }, word)));
  find("notes").replaceChildren(...data.notes.map((note) => make("p", { class: "note" }, note)));
  const parts = [];
  if (data.costs) parts.push(section("costs", "Network sizes by construction", costTable(data.costs), data.lower.length ? lowerBounds(data.lower) : null));
  if (data.tradeoff) parts.push(section("tradeoff", "Fewer neurons within a stated error", tradeoffTable(data.tradeoff)));
  if (data.proofs.length) parts.push(section("proof", "Proofs", proofTable(data.proofs, data.statements)));
  if (data.findings.length || data.healthy !== null) parts.push(section("doctor", "Defects and notes", data.healthy ? make("p", {}, "This is a continuous function on a convex domain. The doctor found no defects.") : null, findingList(data.findings, goTo)));
  parts.push(section("again", "Reproduce this page", recipe(data.recipe)));
  find("rest").replaceChildren(...parts);
  if (data.n === 1) find("surface-figure").remove();
  recall();
  controls();
  networkSection();
  wire();
  refield();
  draw();
}

build();
window.explorer = { data, state, scene, select, moveTo, zoomTo, svgText };
document.documentElement.dataset.ready = "yes";
