// A canvas that is sharp on every screen, and the frame from coordinates to pixels.

function sharp(canvas) {
  const box = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height, ratio };
}

// Paint what does not move with the pointer once, and put it back as long as nothing that it depends on changes.
function painted(canvas, pen, key, paint) {
  if (pen instanceof SvgPen) return paint();
  const whole = `${key}|${canvas.width}x${canvas.height}|${themeColour("--page")}`;
  if (canvas.paintedKey === whole) pen.putImageData(canvas.paintedImage, 0, 0);
  else {
    paint();
    [canvas.paintedKey, canvas.paintedImage] = [whole, pen.getImageData(0, 0, canvas.width, canvas.height)];
  }
}

const MARGIN = { left: 52, right: 12, top: 12, bottom: 34 };

// Coordinates to pixels and back, inside the margins.
function frameOf(width, height, [left, right], [low, high]) {
  const [w, h] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  return {
    x: (x) => MARGIN.left + ((x - left) / (right - left)) * w,
    y: (y) => MARGIN.top + ((high - y) / (high - low)) * h,
    inverse: (u, v) => [left + ((u - MARGIN.left) / w) * (right - left), high - ((v - MARGIN.top) / h) * (high - low)],
    w, h, left, right, low, high,
  };
}

function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) || rough;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

function drawAxes(pen, frame, width, height, names) {
  pen.save();
  pen.fillStyle = themeColour("--soft");
  pen.strokeStyle = themeColour("--line");
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  for (const x of ticks(frame.left, frame.right)) pen.fillText(number(x), frame.x(x), height - MARGIN.bottom + 15);
  pen.textAlign = "right";
  for (const y of ticks(frame.low, frame.high)) pen.fillText(number(y), MARGIN.left - 6, frame.y(y) + 4);
  pen.strokeRect(MARGIN.left, MARGIN.top, frame.w, frame.h);
  pen.font = "italic 600 12px system-ui, sans-serif";
  pen.fillStyle = themeColour("--ink");
  pen.textAlign = "center";
  pen.fillText(names[0], MARGIN.left + frame.w / 2, height - 4);
  pen.translate(12, MARGIN.top + frame.h / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(names[1], 0, 0);
  pen.restore();
}

function tracePolygon(pen, frame, corners) {
  let [u, v] = [frame.x(corners[0]), frame.y(corners[1])];
  pen.moveTo(u, v);
  for (let i = 2; i < corners.length; i += 2) {
    const [x, y] = [frame.x(corners[i]), frame.y(corners[i + 1])];
    if (Math.abs(x - u) + Math.abs(y - v) < 0.05) continue; // edges far below a pixel make some browsers lose a part
    pen.lineTo(x, y);
    [u, v] = [x, y];
  }
  pen.closePath();
}

function drawSegments(pen, frame, segments) {
  pen.beginPath();
  for (const [x0, y0, x1, y1] of segments) { pen.moveTo(frame.x(x0), frame.y(y0)); pen.lineTo(frame.x(x1), frame.y(y1)); }
  pen.stroke();
}

// A witness: a ring that is seen on every colour.
function drawRing(pen, u, v, colour) {
  for (const [width, style] of [[6, "#fff"], [3, colour]]) {
    pen.beginPath();
    pen.arc(u, v, 8, 0, 2 * Math.PI);
    pen.lineWidth = width;
    pen.strokeStyle = style;
    pen.stroke();
  }
}
