// The part of a canvas's pen that the pictures use, writing SVG: what is drawn can be exported, with its lines as lines.

class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], defs: [], stops: new Map(), clips: 0, groups: 0, depth: [] });
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, lineCap: "butt", font: "", textAlign: "left", dash: "", path: "" });
  }
  static digits(value) { return String(Math.round(value * 100) / 100); }
  static text(value) { return String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;"); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${SvgPen.digits(x)} ${SvgPen.digits(y)}`; }
  lineTo(x, y) { this.path += `${this.path ? "L" : "M"}${SvgPen.digits(x)} ${SvgPen.digits(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, w, h) { this.moveTo(x, y); this.lineTo(x + w, y); this.lineTo(x + w, y + h); this.lineTo(x, y + h); this.closePath(); }
  arc(x, y, r) { this.moveTo(x - r, y); for (const side of [1, -1]) this.path += `a${r} ${r} 0 1 0 ${2 * r * side} 0`; }
  setLineDash(dash) { this.dash = dash.join(" "); }
  style(kind) { const style = this[kind]; return typeof style === "string" ? style : style.use(); }
  add(tag, attributes, text) {
    if (this.globalAlpha < 1) attributes.opacity = this.globalAlpha;
    const all = Object.entries(attributes).map(([name, value]) => ` ${name}="${SvgPen.text(value).replaceAll('"', "&quot;")}"`).join("");
    this.parts.push(text === undefined ? `<${tag}${all}/>` : `<${tag}${all}>${SvgPen.text(text)}</${tag}>`);
  }
  fill() { if (this.path) this.add("path", { d: this.path, fill: this.style("fillStyle") }); }
  stroke() {
    const line = { d: this.path, fill: "none", stroke: this.style("strokeStyle"), "stroke-width": SvgPen.digits(this.lineWidth), "stroke-linecap": this.lineCap };
    if (this.path) this.add("path", this.dash ? { ...line, "stroke-dasharray": this.dash } : line);
  }
  fillRect(x, y, w, h) { this.beginPath(); this.rect(x, y, w, h); this.fill(); }
  strokeRect(x, y, w, h) { this.beginPath(); this.rect(x, y, w, h); this.stroke(); }
  fillText(text, x, y) {
    const anchor = { center: "middle", right: "end" }[this.textAlign] || "start";
    this.add("text", { x: SvgPen.digits(x), y: SvgPen.digits(y), fill: this.style("fillStyle"), style: `font:${this.font}`, "text-anchor": anchor }, text);
  }
  drawImage(image, x, y, width, height) { this.add("image", { x, y, width, height, href: image.toDataURL(), preserveAspectRatio: "none" }); }
  // Gradients share their stops: 10,000 pieces have one colour scale.
  createLinearGradient(x1, y1, x2, y2) {
    const stops = [], pen = this;
    let id = null;
    const use = () => {
      if (id) return `url(#${id})`;
      const key = stops.join("");
      if (!pen.stops.has(key)) {
        pen.stops.set(key, `s${pen.stops.size}`);
        pen.defs.push(`<linearGradient id="${pen.stops.get(key)}">${key}</linearGradient>`);
      }
      id = `g${pen.defs.length}`;
      const [a, b, c, d] = [x1, y1, x2, y2].map(SvgPen.digits);
      pen.defs.push(`<linearGradient id="${id}" href="#${pen.stops.get(key)}" gradientUnits="userSpaceOnUse" x1="${a}" y1="${b}" x2="${c}" y2="${d}"/>`);
      return `url(#${id})`;
    };
    return { addColorStop: (share, colour) => stops.push(`<stop offset="${share}" stop-color="${colour}"/>`), use };
  }
  open(attribute) { this.parts.push(`<g ${attribute}>`); this.groups += 1; }
  save() { this.depth.push(this.groups); }
  restore() { for (const before = this.depth.pop(); this.groups > before; this.groups--) this.parts.push("</g>"); }
  clip() { this.defs.push(`<clipPath id="c${this.clips}"><path d="${this.path}"/></clipPath>`); this.open(`clip-path="url(#c${this.clips++})"`); }
  translate(x, y) { this.open(`transform="translate(${x} ${y})"`); }
  rotate(angle) { this.open(`transform="rotate(${(angle * 180) / Math.PI})"`); }
  toString() {
    const page = `<rect width="100%" height="100%" fill="${themeColour("--card")}"/>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${page}<defs>${this.defs.join("")}</defs>${this.parts.join("\n")}</svg>\n`;
  }
}

// The picture that is on show, as a file.
function download(name, content) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const fileName = (ending) => (data.title.replace(/\W+/g, "_").replace(/^_+|_+$/g, "").slice(0, 60) || "picture") + ending;

function svgText() {
  const box = find("map").getBoundingClientRect();
  const [width, height] = [Math.round(box.width), Math.round(box.height)], pen = new SvgPen(width, height);
  (data.n === 1 ? drawCurve : drawMap)(find("map"), viewNow(), { pen, width, height });
  return pen.toString();
}

function savePng(canvas, name) {
  const copy = make("canvas", { width: canvas.width, height: canvas.height }), pen = copy.getContext("2d");
  pen.fillStyle = themeColour("--card");
  pen.fillRect(0, 0, copy.width, copy.height);
  pen.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => download(name, blob));
}
