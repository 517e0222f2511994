// Where the reader looks: zoom, pan, pin, the readout beside the point, and all of it in the address of the page.

const CLOSEST = 1e-7; // of the whole box

// A window of the map, no larger than the whole and inside it.
function zoomTo(window) {
  const box = state.axes.map((axis) => data.box[axis]);
  const fitted = window.map(([a, b], side) => {
    const [low, high] = box[side], size = Math.min(Math.max(b - a, CLOSEST * (high - low)), high - low);
    const from = Math.min(Math.max((a + b - size) / 2, low), high - size);
    return [from, from + size];
  });
  state.window = fitted.every(([a, b], side) => b - a >= 0.999 * (box[side][1] - box[side][0])) ? null : fitted;
  if (isSampled()) { clearTimeout(scene.later); scene.later = setTimeout(() => { refield(); draw(); }, 120); }
  draw();
}

// Magnify by a factor; the point at the place (x, y) stays where it is.
function zoomBy(factor, place = shown().map(([a, b]) => (a + b) / 2)) {
  zoomTo(shown().map(([a, b], side) => [place[side] - (place[side] - a) / factor, place[side] + (b - place[side]) / factor]));
}

function panBy(du, dv, from) {
  const steps = [(-du / scene.frame.w) * (from[0][1] - from[0][0]), from[1] ? (dv / scene.frame.h) * (from[1][1] - from[1][0]) : 0];
  zoomTo(from.map(([a, b], side) => [a + steps[side], b + steps[side]]));
}

function setPin(pinned) {
  state.pinned = pinned;
  if (pinned) scene.tip = true;
  draw();
}

// One pointer moves the point, or with a mouse button down the window; two fingers zoom. A click pins the point.
function wireMap(map) {
  const fingers = new Map();
  let drag = null, pinch = null;
  const reach = () => { const [p, q] = [...fingers.values()]; return { size: Math.hypot(p[0] - q[0], p[1] - q[1]) || 1, middle: [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2] }; };
  map.addEventListener("pointerdown", (event) => {
    const place = fromEvent(map, event);
    fingers.set(event.pointerId, place);
    map.setPointerCapture(event.pointerId);
    scene.tip = true;
    if (fingers.size === 2) { pinch = { ...reach(), window: shown() }; drag = null; return; }
    const pans = event.pointerType === "mouse" && (!data.plant || event.shiftKey);
    drag = { place, window: shown(), moved: false, pans };
    if (!pans) pointOnMap(event);
  });
  map.addEventListener("pointermove", (event) => {
    const place = fromEvent(map, event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, place);
    scene.tip = true;
    if (pinch && fingers.size === 2) {
      const now = reach(), factor = now.size / pinch.size;
      state.window = null;
      const frame = frameOf(map.clientWidth, map.clientHeight, pinch.window[0], pinch.window[1] || [0, 1]), at = frame.inverse(...pinch.middle);
      state.window = pinch.window.map(([a, b], side) => [at[side] - (at[side] - a) / factor, at[side] + (b - at[side]) / factor]);
      return panBy(now.middle[0] - pinch.middle[0], now.middle[1] - pinch.middle[1], state.window);
    }
    if (drag && drag.pans) {
      const [du, dv] = [place[0] - drag.place[0], place[1] - drag.place[1]];
      drag.moved ||= Math.hypot(du, dv) > 4;
      if (drag.moved) panBy(du, dv, drag.window);
      return;
    }
    if (event.buttons || !state.pinned) pointOnMap(event);
  });
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (drag && drag.pans && !drag.moved && event.type === "pointerup") pinAt(event);
    if (data.plant && !pinch && !(drag && drag.pans) && event.type === "pointerup") { state.pinned = true; playLoop(); }
    if (fingers.size === 0) pinch = null;
    drag = null;
  };
  map.addEventListener("pointerup", end);
  map.addEventListener("pointercancel", end);
  map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !state.pinned) { scene.tip = false; tip(); } });
  map.addEventListener("wheel", (event) => { // a wheel over a map that was not clicked scrolls the page
    if (document.activeElement !== map && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), scene.frame.inverse(...fromEvent(map, event)).slice(0, state.axes.length));
  }, { passive: false });
  find("zoom-in").addEventListener("click", () => zoomBy(1.6));
  find("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  find("zoom-all").addEventListener("click", () => zoomTo(state.axes.map((axis) => data.box[axis])));
  find("pin").addEventListener("click", () => setPin(!state.pinned));
  find("save-svg").addEventListener("click", () => download(fileName(".svg"), new Blob([svgText()], { type: "image/svg+xml" })));
  find("save-png").addEventListener("click", () => savePng(map, fileName(".png")));
}

// A click pins the point there; a click on the pin takes it off.
function pinAt(event) {
  const [u, v] = fromEvent(find("map"), event), [x, y] = state.axes.map((axis) => state.at[axis]);
  const near = Math.hypot(scene.frame.x(x) - u, data.n > 1 ? scene.frame.y(y) - v : 0) < 10;
  if (state.pinned && near) return setPin(false);
  state.pinned = true;
  pointOnMap(event);
}

// Value, piece and law beside the point, on the side where there is room.
function tip() {
  const box = find("tip"), map = find("map");
  const [x, y] = state.axes.map((axis) => state.at[axis]), value = scene.field.value(x, y);
  const [u, v] = [scene.frame.x(x), scene.frame.y(data.n > 1 ? y : value)];
  const inside = u >= MARGIN.left - 1 && u <= map.clientWidth && v >= 0 && v <= map.clientHeight;
  box.hidden = !scene.tip || !inside || Number.isNaN(value);
  if (box.hidden) return;
  const q = isDifference() ? null : pieceOf();
  const law = q !== null && item().pieces ? make("div", {}, `piece ${q}: ${lawOf(item().pieces, q)}`) : null;
  box.replaceChildren(make("b", {}, number(value)), ...(law ? [law] : []));
  const [wide, tall] = [box.offsetWidth, box.offsetHeight];
  box.style.left = Math.max(0, u + 16 + wide > map.clientWidth ? u - 16 - wide : u + 16) + "px";
  box.style.top = Math.max(0, v - 16 - tall < 0 ? v + 16 : v - 16 - tall) + "px";
}

// The state in the address, so that a link shows what is on show: only what is not as the page opens.
const shortly = (values) => Array.from(values, (v) => String(Number(v.toPrecision(9)))).join(",");

function addressOf() {
  const said = new URLSearchParams(document.body.classList.contains("embed") ? { embed: "yes" } : {});
  if (state.view) said.set("view", state.view);
  if (state.output) said.set("output", state.output);
  if (data.n > 2 && shortly(state.axes) !== "0,1") said.set("axes", shortly(state.axes));
  if (state.mode !== "values") said.set("colour", state.mode);
  if (state.mode === "cells" && state.fold !== null) said.set("fold", state.fold);
  if (state.pinned) said.set("pin", "yes");
  if (state.pinned || (data.n > 2 && shortly(state.at) !== shortly(data.at))) said.set("at", shortly(state.at));
  if (state.window) said.set("window", shortly(state.window.flat()));
  if (state.neuron) said.set("neuron", `${state.neuron.layer},${state.neuron.index}`);
  if (shortly(Object.values(state.turn)) !== shortly(Object.values(TURN))) said.set("turn", shortly(Object.values(state.turn)));
  return said.toString().replaceAll("%2C", ",");
}

function remember() {
  clearTimeout(scene.writing);
  scene.writing = setTimeout(() => {
    const text = addressOf();
    if (text === location.hash.slice(1)) return;
    try { history.replaceState(null, "", text ? "#" + text : location.pathname + location.search); } catch { /* a frame without an address */ }
  }, 250);
}

// What an address says, as far as it makes sense on this page.
function recall() {
  const said = new URLSearchParams(location.hash.slice(1));
  document.body.classList.toggle("embed", said.get("embed") === "yes"); // in a frame: the pictures alone
  const numbers = (name, length) => { const found = (said.get(name) || "").split(",").map(Number); return said.has(name) && found.length === length && found.every(Number.isFinite) ? found : null; };
  const whole = (name, below) => { const found = numbers(name, 1); return found && Number.isInteger(found[0]) && found[0] >= 0 && found[0] < below ? found[0] : 0; };
  state.view = whole("view", data.items.length > 1 ? data.items.length + 1 : 1);
  state.output = whole("output", data.m);
  const axes = numbers("axes", 2);
  if (data.n > 2 && axes && axes[0] !== axes[1] && axes.every((k) => Number.isInteger(k) && k >= 0 && k < data.n)) state.axes = axes;
  if (modes().some(([name]) => name === said.get("colour"))) state.mode = said.get("colour");
  if (said.has("fold")) state.fold = whole("fold", 1000);
  const at = numbers("at", data.n);
  if (at) state.at = Float64Array.from(at, (v, k) => Math.min(Math.max(v, data.box[k][0]), data.box[k][1]));
  scene.tip = state.pinned = said.get("pin") === "yes";
  const turn = numbers("turn", 2);
  if (turn) state.turn = { azimuth: turn[0], elevation: Math.min(Math.PI / 2, Math.max(0.05, turn[1])) };
  const window = numbers("window", 2 * state.axes.length);
  if (window) state.window = state.axes.map((_, side) => window.slice(2 * side, 2 * side + 2));
  const neuron = numbers("neuron", 2), layers = (shownNetwork() || { layers: [] }).layers;
  if (neuron && neuron[0] < layers.length - 1 && layers[neuron[0]] && neuron[1] >= 0 && neuron[1] < layers[neuron[0]].bias.length) state.neuron = { layer: neuron[0], index: neuron[1] };
}
