// The map of pieces, seen from above.

function drawMap(canvas, view, { pen, width, height } = sharp(canvas)) {
  const { data, axes } = view;
  const frame = frameOf(width, height, ...view.shown);
  painted(canvas, pen, `${view.version}|${view.mode}|${view.fold}|${view.shown}`, () => within(pen, frame, () => paintPieces(pen, frame, view)));
  within(pen, frame, () => drawMarks(pen, frame, view));
  drawAxes(pen, frame, width, height, axes.map((axis) => data.labels[axis]));
  return frame;
}

// Draw nothing outside the frame.
function within(pen, frame, paint) {
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left, MARGIN.top, frame.w, frame.h);
  pen.clip();
  paint();
  pen.restore();
}

function isSeen({ left, right, low, high }, corners) {
  const [x0, x1, y0, y1] = Locator.bounds(corners);
  return x0 <= right && x1 >= left && y0 <= high && y1 >= low;
}

function paintPieces(pen, frame, view) {
  const { field } = view;
  const kinds = field.kinds && field.kinds[view.mode];
  if (view.mode === "cells" && view.network) {
    paintCells(pen, frame, view);
    if (view.hinge) drawHinge(pen, frame, view.hinge);
    return;
  }
  pen.globalAlpha = view.mode === "bends" && view.bends ? 0.25 : 1; // so that the colours of the bends stand out
  if (field.shapes) field.shapes.forEach((shape, s) => isSeen(frame, shape.corners) && fillShape(pen, frame, field, shape, kinds && kinds.of[s]));
  else fillRaster(pen, frame, field);
  pen.globalAlpha = 1;
  if (view.bends) drawBends(pen, frame, view);
  if (view.hinge) drawHinge(pen, frame, view.hinge);
}

function fillShape(pen, frame, field, shape, kind) {
  const [mx, my] = middle(shape.corners);
  const [u, v] = [frame.x(mx), frame.y(my)];
  const level = valueAt(shape.law, mx, my);
  // The gradient in pixels: the y axis points down there.
  const gx = (shape.law[0] * (frame.right - frame.left)) / frame.w, gy = (-shape.law[1] * (frame.high - frame.low)) / frame.h;
  const steep = gx * gx + gy * gy, range = field.top - field.bottom;
  let fill;
  if (typeof kind === "number") fill = css(category(kind));
  else if (range <= 0 || steep * 1e6 <= (1e-3 * range) ** 2) fill = css(colourOf(field, level));
  else {
    const at = (value) => [u + (gx * (value - level)) / steep, v + (gy * (value - level)) / steep];
    fill = pen.createLinearGradient(...at(field.bottom), ...at(field.top));
    for (let k = 0; k <= 16; k++) fill.addColorStop(k / 16, css(colourOf(field, field.bottom + (range * k) / 16)));
  }
  pen.beginPath();
  tracePolygon(pen, frame, shape.corners);
  pen.fillStyle = fill;
  pen.fill();
  pen.strokeStyle = fill; // no hairline of the background between neighbours
  pen.lineWidth = 0.6;
  pen.stroke();
}

function fillRaster(pen, frame, field) {
  const image = new ImageData(field.side + 1, field.side + 1);
  for (let v = 0; v <= field.side; v++)
    for (let u = 0; u <= field.side; u++) {
      const value = field.values[v * (field.side + 1) + u];
      const at = 4 * ((field.side - v) * (field.side + 1) + u);
      if (Number.isNaN(value)) continue;
      image.data.set([...colourOf(field, value), 255], at);
    }
  const small = document.createElement("canvas");
  small.width = small.height = field.side + 1;
  small.getContext("2d").putImageData(image, 0, 0);
  const [left, top, right, bottom] = [frame.x(field.frame[0]), frame.y(field.frame[5]), frame.x(field.frame[2]), frame.y(field.frame[1])];
  pen.drawImage(small, left, top, right - left, bottom - top);
}

// Bends by the change of slope: orange where the function is convex, blue where it is concave, thicker where it is larger.
function drawBends(pen, frame, view) {
  const most = steepest(view.bends) || 1;
  const seen = view.bends.filter((bend) => isSeen(frame, [bend.x0, bend.y0, bend.x1, bend.y1]));
  const fades = fadeOf(seen, frame);
  pen.lineCap = "round";
  seen.forEach((bend, k) => {
    const share = Math.abs(bend.jump) / most, fade = fades[k];
    const flat = share < 1e-9;
    if (fade < 0.02) return;
    pen.lineWidth = view.mode === "bends" ? Math.max(0.5, (1.4 + 4 * share) * Math.sqrt(fade)) : 1;
    pen.strokeStyle = view.mode !== "bends" ? `rgba(255,255,255,${(0.7 * fade).toFixed(3)})` : flat ? `rgba(120,120,120,${(0.6 * fade).toFixed(3)})` : css(bend.jump > 0 ? CONVEX : CONCAVE, 0.6 + 0.4 * share);
    drawSegments(pen, frame, [[bend.x0, bend.y0, bend.x1, bend.y1]]);
  });
}

// How strongly each segment is drawn: 1 where there are few, less where lines would cover the colours between them.
const CELL = 24, ROOM = 0.1; // pixels; the share of a cell that lines may cover
function fadeOf(bends, frame) {
  const columns = Math.ceil(frame.w / CELL) + 1, covered = new Map();
  const cell = (u, v) => Math.floor((v - MARGIN.top) / CELL) * columns + Math.floor((u - MARGIN.left) / CELL);
  const places = bends.map(({ x0, y0, x1, y1 }) => {
    const [u, v, du, dv] = [frame.x(x0), frame.y(y0), frame.x(x1) - frame.x(x0), frame.y(y1) - frame.y(y0)];
    const length = Math.hypot(du, dv), parts = Math.min(200, Math.max(1, Math.ceil(length / CELL)));
    return Array.from({ length: parts }, (_, k) => {
      const at = cell(u + (du * (k + 0.5)) / parts, v + (dv * (k + 0.5)) / parts);
      covered.set(at, (covered.get(at) || 0) + length / parts);
      return at;
    });
  });
  return places.map((cells) => Math.min(1, (ROOM * CELL * CELL * cells.length) / cells.reduce((sum, at) => sum + covered.get(at), 0)) ** 2);
}

function drawHinge(pen, frame, hinge) {
  pen.fillStyle = "rgba(255,255,255,.38)";
  pen.beginPath();
  for (const part of hinge.on) tracePolygon(pen, frame, part);
  pen.fill();
  for (const [line, style] of [[6, "#fff"], [3, "#c2185b"]]) {
    pen.lineWidth = line;
    pen.strokeStyle = style;
    drawSegments(pen, frame, hinge.segments);
  }
}

function drawMarks(pen, frame, view) {
  const { field, at, axes } = view;
  const [x, y] = axes.map((axis) => at[axis]);
  const s = field.find(x, y);
  if (s >= 0) {
    pen.beginPath();
    tracePolygon(pen, frame, field.shapes[s].corners);
    for (const [line, style] of [[4.5, "#fff"], [2, "#111"]]) { pen.lineWidth = line; pen.strokeStyle = style; pen.stroke(); }
  }
  if (view.loop) drawPath(pen, frame, axes, view.loop.points.slice(0, view.step === null ? undefined : view.step + 1));
  for (const mark of view.marks) drawRing(pen, frame.x(mark.point[axes[0]]), frame.y(mark.point[axes[1]]), mark.severity === "note" ? "#555" : "#d50000");
  const [u, v] = [frame.x(x), frame.y(y)];
  for (const [line, style] of [[4, "#fff"], [1.6, "#111"]]) {
    pen.lineWidth = line;
    pen.strokeStyle = style;
    drawPlus(pen, u, v);
  }
  if (view.pinned) drawPin(pen, u, v);
}

function drawPin(pen, u, v) {
  pen.beginPath();
  pen.arc(u, v, 5, 0, 2 * Math.PI);
  pen.fillStyle = "#c2185b";
  pen.fill();
  pen.strokeStyle = "#fff";
  pen.lineWidth = 1.5;
  pen.stroke();
}

function drawPlus(pen, u, v) {
  pen.beginPath();
  pen.moveTo(u - 7, v); pen.lineTo(u + 7, v);
  pen.moveTo(u, v - 7); pen.lineTo(u, v + 7);
  pen.stroke();
}
