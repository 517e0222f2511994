// The map of pieces, seen from above.

function drawMap(canvas, view) {
  const { pen, width, height } = sharp(canvas);
  const { data, axes } = view;
  const frame = frameOf(width, height, data.box[axes[0]], data.box[axes[1]]);
  painted(canvas, pen, `${view.version}|${view.mode}`, () => paintPieces(pen, frame, view));
  drawMarks(pen, frame, view);
  drawAxes(pen, frame, width, height, axes.map((axis) => data.names[axis]));
  return frame;
}

function paintPieces(pen, frame, view) {
  const { field } = view;
  pen.globalAlpha = view.mode === "bends" && view.bends ? 0.25 : 1; // so that the colours of the bends stand out
  if (field.shapes) field.shapes.forEach((shape) => fillShape(pen, frame, field, shape));
  else fillRaster(pen, frame, field);
  pen.globalAlpha = 1;
  if (view.bends) drawBends(pen, frame, view);
  if (view.hinge) drawHinge(pen, frame, view.hinge);
}

function fillShape(pen, frame, field, shape) {
  const [mx, my] = middle(shape.corners);
  const [u, v] = [frame.x(mx), frame.y(my)];
  const level = valueAt(shape.law, mx, my);
  // The gradient in pixels: the y axis points down there.
  const gx = (shape.law[0] * (frame.right - frame.left)) / frame.w, gy = (-shape.law[1] * (frame.high - frame.low)) / frame.h;
  const steep = gx * gx + gy * gy, range = field.top - field.bottom;
  let fill;
  if (range <= 0 || steep * 1e6 <= (1e-3 * range) ** 2) fill = css(colourOf(field, level));
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
  pen.drawImage(small, MARGIN.left, MARGIN.top, frame.w, frame.h);
}

// Bends by the change of slope: orange where the function is convex, blue where it is concave, thicker where it is larger.
function drawBends(pen, frame, view) {
  const most = steepest(view.bends) || 1;
  pen.lineCap = "round";
  for (const bend of view.bends) {
    const share = Math.abs(bend.jump) / most;
    const segment = [[bend.x0, bend.y0, bend.x1, bend.y1]];
    const flat = share < 1e-9;
    pen.lineWidth = view.mode === "bends" ? 1.4 + 4 * share : 1;
    pen.strokeStyle = view.mode !== "bends" ? "rgba(255,255,255,.7)" : flat ? "rgba(120,120,120,.6)" : css(bend.jump > 0 ? CONVEX : CONCAVE, 0.6 + 0.4 * share);
    drawSegments(pen, frame, segment);
  }
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
}

function drawPlus(pen, u, v) {
  pen.beginPath();
  pen.moveTo(u - 7, v); pen.lineTo(u + 7, v);
  pen.moveTo(u, v - 7); pen.lineTo(u, v + 7);
  pen.stroke();
}
