// What the page was made of: numbers come as base64 of little-endian arrays, everything else as JSON.

const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array };

function unpack(packed) {
  const raw = atob(packed.data);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

function unpackAll(record) {
  const plain = {};
  for (const [name, value] of Object.entries(record)) {
    plain[name] = value && value.type in ARRAYS && typeof value.data === "string" ? unpack(value) : value;
  }
  return plain;
}

function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const item of data.items) {
    if (item.pieces) item.pieces = unpackAll(item.pieces);
    if (item.network && item.network.layers) item.network.layers = item.network.layers.map(unpackAll);
  }
  return data;
}

// Numbers as people read them: five digits, a true minus sign, powers of ten where they help.
function number(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "outside";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(2).replace("e+", "e") : String(Number(value.toPrecision(5)));
  const [digits, power] = text.replaceAll("-", "−").split("e");
  return power === undefined ? digits : digits + "·10" + [...power].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "⁻").join("");
}

const count = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? value.toLocaleString("en") : value);

// "2 x − 0.5 y + 1"
function lawText(slopes, offset, names) {
  let text = "";
  const term = (value, name) => {
    const size = number(Math.abs(value));
    const body = name === "" ? size : size === "1" ? name : size + " " + name;
    text += text === "" ? (value < 0 ? "−" : "") + body : (value < 0 ? " − " : " + ") + body;
  };
  slopes.forEach((slope, k) => slope !== 0 && term(slope, names[k]));
  if (offset !== 0 || text === "") term(offset, "");
  return text;
}

function pointText(point) {
  return "(" + Array.from(point, number).join(", ") + ")";
}

// Elements: make("td", {class: "x", onclick: f}, "text", child)
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "path", "text", "circle", "g", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
