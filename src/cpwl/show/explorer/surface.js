// The graph as a surface: triangles into a buffer of depths, so that what is behind is hidden, in any browser.

const TURN = { azimuth: -0.65, elevation: 0.6 };

function projector(field, width, height, turn) {
  const [left, low, right, , , high] = field.frame;
  const [ca, sa, ce, se] = [Math.cos(turn.azimuth), Math.sin(turn.azimuth), Math.cos(turn.elevation), Math.sin(turn.elevation)];
  const range = field.top - field.bottom;
  const size = 0.42 * Math.min(width / 1.42, height / (1.42 * se + 0.68 * ce)); // nothing leaves the picture when it is turned
  return (x, y, value) => {
    const u = (2 * (x - left)) / (right - left) - 1, v = (2 * (y - low)) / (high - low) - 1;
    const w = range > 0 ? 1.3 * ((value - field.bottom) / range - 0.5) : 0;
    const [p, q] = [ca * u - sa * v, sa * u + ca * v];
    return [width / 2 + size * p, height / 2 - size * (se * q + ce * w), ce * q - se * w];
  };
}

function drawSurface(canvas, view) {
  const { pen, width, height, ratio } = sharp(canvas);
  const [w, h] = [canvas.width, canvas.height];
  const project = projector(view.field, w, h, view.turn);
  painted(canvas, pen, `${view.version}|${view.mode}|${view.turn.azimuth},${view.turn.elevation}`, () => { paintSurface(pen, w, h, view, project); drawBase(pen, view, (x, y, z) => project(x, y, z).map((c) => c / ratio)); });
  const [x, y] = view.axes.map((axis) => view.at[axis]);
  const value = view.field.value(x, y);
  if (!Number.isNaN(value)) {
    const [u, v] = project(x, y, value).map((c) => c / ratio);
    const foot = project(x, y, view.field.bottom).map((c) => c / ratio);
    for (const [line, style] of [[4, themeColour("--card")], [1.6, themeColour("--ink")]]) {
      pen.lineWidth = line;
      pen.strokeStyle = style;
      pen.beginPath();
      pen.moveTo(foot[0], foot[1]);
      pen.lineTo(u, v);
      pen.stroke();
    }
    pen.beginPath();
    pen.arc(u, v, 4.5, 0, 2 * Math.PI);
    pen.fillStyle = "#c2185b";
    pen.fill();
    pen.strokeStyle = "#fff";
    pen.lineWidth = 1.5;
    pen.stroke();
  }
}

function paintSurface(pen, w, h, { field, mode }, project) {
  const kinds = field.kinds && field.kinds[mode];
  const image = pen.createImageData(w, h);
  const target = { image: image.data, depth: new Float32Array(w * h).fill(Infinity), w, h };
  surfacePolygons(field).forEach((polygon, s) => {
    const own = kinds && category(kinds.of[s]);
    fillPolygon(target, own ? () => own : (value) => colourOf(field, value), project, polygon);
  });
  if (field.shapes) {
    // Lines a little nearer than the surface, so that they are not half hidden in it.
    for (const { corners, law } of field.shapes) outline(target, project, corners, law, 0.012, [255, 255, 255], 0.5 * Math.min(1, 400 / field.shapes.length));
  }
  pen.putImageData(image, 0, 0);
}

// Under the surface: a grid at its lowest value, and axes along the edges that face the reader. The base is below the
// surface everywhere, and the reader above it, so it is drawn behind what is there. Where two axes meet, one is labelled.
function drawBase(pen, { field, axes, data }, project) {
  const [left, low, right, , , high] = field.frame, { bottom, top } = field;
  const [xs, ys] = [ticks(left, right), ticks(low, high)];
  const line = (from, to, style) => { pen.strokeStyle = themeColour(style); pen.beginPath(); pen.moveTo(from[0], from[1]); pen.lineTo(to[0], to[1]); pen.stroke(); };
  const lowest = (p, q) => (project(...p, bottom)[1] >= project(...q, bottom)[1] ? p : q); // on the screen
  const [, nearY] = lowest([(left + right) / 2, low], [(left + right) / 2, high]), [nearX] = lowest([left, (low + high) / 2], [right, (low + high) / 2]);
  const centre = project((left + right) / 2, (low + high) / 2, bottom);
  const say = (text, [u, v], [du, dv]) => { pen.textAlign = du < -4 ? "right" : du > 4 ? "left" : "center"; pen.fillText(text, u + du, v + dv); };
  const away = ([u, v], by) => { const [du, dv] = [u - centre[0], v - centre[1]], size = Math.hypot(du, dv) || 1; return [(by * du) / size, (by * dv) / size + 4]; };
  pen.save();
  pen.globalCompositeOperation = "destination-over";
  pen.lineWidth = 1;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = themeColour("--soft");
  for (const x of [left, ...xs, right]) line(project(x, low, bottom), project(x, high, bottom), "--line");
  for (const y of [low, ...ys, high]) line(project(left, y, bottom), project(right, y, bottom), "--line");
  const every = (all) => all.filter((_, k) => all.length < 5 || k % 2 === 0);
  for (const x of every(xs)) { const at = project(x, nearY, bottom); say(number(x), at, away(at, 14)); }
  for (const y of every(ys).filter((y) => y !== nearY || !xs.includes(nearX))) { const at = project(nearX, y, bottom); say(number(y), at, away(at, 14)); }
  if (top > bottom) {
    const corner = [[left, low], [left, high], [right, low], [right, high]].sort((p, q) => project(...p, bottom)[0] - project(...q, bottom)[0])[0];
    line(project(...corner, bottom), project(...corner, top), "--end");
    for (const z of every(ticks(bottom, top)).filter((z) => z > bottom + 0.05 * (top - bottom))) say(number(z), project(...corner, z), [-6, 4]);
  }
  pen.fillStyle = themeColour("--ink");
  pen.font = "italic 600 12px system-ui, sans-serif";
  const [midX, midY] = [project((left + right) / 2, nearY, bottom), project(nearX, (low + high) / 2, bottom)];
  say(data.labels[axes[0]], midX, away(midX, 32));
  say(data.labels[axes[1]], midY, away(midY, 32));
  pen.restore();
}

function surfacePolygons(field) {
  if (field.shapes) return field.shapes.map(({ corners, law }) => ({ corners, values: cornerValues({ corners, law }) }));
  const { side, values, frame } = field;
  const [left, low, wide, tall] = [frame[0], frame[1], (frame[2] - frame[0]) / side, (frame[5] - frame[1]) / side];
  const found = [];
  for (let v = 0; v < side; v++)
    for (let u = 0; u < side; u++) {
      const at = [[u, v], [u + 1, v], [u + 1, v + 1], [u, v + 1]];
      const four = at.map(([i, j]) => values[j * (side + 1) + i]);
      if (!four.some(Number.isNaN)) found.push({ corners: at.flatMap(([i, j]) => [left + i * wide, low + j * tall]), values: four });
    }
  return found;
}

function fillPolygon(target, paint, project, { corners, values }) {
  const points = values.map((value, k) => project(corners[2 * k], corners[2 * k + 1], value));
  const light = shade(points, target.w);
  for (let k = 2; k < points.length; k++) fillTriangle(target, paint, [points[0], points[k - 1], points[k]], [values[0], values[k - 1], values[k]], light);
}

// Brighter where the surface faces up and to the left.
function shade(points, size) {
  let [nx, ny, nz] = [0, 0, 0];
  points.forEach((p, k) => {
    const q = points[(k + 1) % points.length];
    nx += (p[1] - q[1]) * ((p[2] + q[2]) * size * 0.36);
    ny += (p[2] - q[2]) * size * 0.36 * (p[0] + q[0]);
    nz += (p[0] - q[0]) * (p[1] + q[1]);
  });
  const length = Math.hypot(nx, ny, nz) || 1;
  const facing = Math.abs((0.35 * nx + 0.5 * ny + 0.8 * nz) / length);
  return 0.72 + 0.28 * Math.min(1, facing);
}

function fillTriangle({ image, depth, w, h }, paint, [a, b, c], values, light) {
  const det = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
  if (Math.abs(det) < 1e-9) return;
  const [x0, x1] = [Math.max(0, Math.floor(Math.min(a[0], b[0], c[0]))), Math.min(w - 1, Math.ceil(Math.max(a[0], b[0], c[0])))];
  const [y0, y1] = [Math.max(0, Math.floor(Math.min(a[1], b[1], c[1]))), Math.min(h - 1, Math.ceil(Math.max(a[1], b[1], c[1])))];
  for (let y = y0; y <= y1; y++)
    for (let x = x0; x <= x1; x++) {
      const s = ((x - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (y - a[1])) / det;
      const t = ((b[0] - a[0]) * (y - a[1]) - (x - a[0]) * (b[1] - a[1])) / det;
      if (s < -1e-6 || t < -1e-6 || s + t > 1 + 1e-6) continue;
      const z = a[2] + s * (b[2] - a[2]) + t * (c[2] - a[2]);
      const at = y * w + x;
      if (z >= depth[at]) continue;
      depth[at] = z;
      const colour = paint(values[0] + s * (values[1] - values[0]) + t * (values[2] - values[0]));
      for (let k = 0; k < 3; k++) image[4 * at + k] = colour[k] * light;
      image[4 * at + 3] = 255;
    }
}

function outline({ image, depth, w, h }, project, corners, law, lift, colour, alpha) {
  for (let i = 0; i < corners.length; i += 2) {
    const j = (i + 2) % corners.length;
    const a = project(corners[i], corners[i + 1], valueAt(law, corners[i], corners[i + 1]));
    const b = project(corners[j], corners[j + 1], valueAt(law, corners[j], corners[j + 1]));
    const steps = Math.ceil(Math.max(Math.abs(b[0] - a[0]), Math.abs(b[1] - a[1]), 1));
    for (let k = 0; k <= steps; k++) {
      const t = k / steps;
      const [x, y, z] = [0, 1, 2].map((m) => a[m] + t * (b[m] - a[m]));
      const at = Math.round(y) * w + Math.round(x);
      if (x < 0 || y < 0 || x >= w - 1 || y >= h - 1 || z - lift > depth[at]) continue;
      for (let m = 0; m < 3; m++) image[4 * at + m] = image[4 * at + m] * (1 - alpha) + colour[m] * alpha;
    }
  }
}
