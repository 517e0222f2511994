// Convex polygons as flat lists x0, y0, x1, y1, ..; nothing is sampled.

// The part of a polygon where a x + b y <= c (Sutherland and Hodgman, one half-plane).
function clip(polygon, a, b, c) {
  const kept = [];
  const size = polygon.length;
  for (let i = 0; i < size; i += 2) {
    const j = (i + 2) % size;
    const here = a * polygon[i] + b * polygon[i + 1] - c;
    const next = a * polygon[j] + b * polygon[j + 1] - c;
    if (here <= 0) kept.push(polygon[i], polygon[i + 1]);
    if ((here < 0 && next > 0) || (here > 0 && next < 0)) {
      const share = here / (here - next);
      kept.push(polygon[i] + (polygon[j] - polygon[i]) * share, polygon[i + 1] + (polygon[j + 1] - polygon[i + 1]) * share);
    }
  }
  return kept;
}

function area(polygon) {
  let twice = 0;
  for (let i = 0; i < polygon.length; i += 2) {
    const j = (i + 2) % polygon.length;
    twice += polygon[i] * polygon[j + 1] - polygon[j] * polygon[i + 1];
  }
  return Math.abs(twice) / 2;
}

function middle(polygon) {
  let x = 0, y = 0;
  for (let i = 0; i < polygon.length; i += 2) { x += polygon[i]; y += polygon[i + 1]; }
  return [(2 * x) / polygon.length, (2 * y) / polygon.length];
}

function rectangle(box, [i, j]) {
  const [[left, right], [low, high]] = [box[i], box[j]];
  return [left, low, right, low, right, high, left, high];
}

// What is seen of the pieces on the plane of two inputs through the point `at`: corners, the law a x + b y + c, the piece.
function slicePieces(pieces, n, output, axes, at, box) {
  const [i, j] = axes;
  const frame = rectangle(box, axes);
  const tiny = 1e-12 * area(frame);
  const shapes = [];
  for (let q = 0; q < pieces.count; q++) {
    let corners = frame;
    for (let r = pieces.start[q]; r < pieces.start[q + 1] && corners.length >= 6; r++) {
      const row = pieces.row[r], sign = row < 0 ? -1 : 1, base = (row < 0 ? ~row : row) * (n + 1);
      let bound = pieces.rows[base + n];
      for (let k = 0; k < n; k++) if (k !== i && k !== j) bound -= pieces.rows[base + k] * at[k];
      corners = clip(corners, sign * pieces.rows[base + i], sign * pieces.rows[base + j], sign * bound);
    }
    if (corners.length < 6 || area(corners) <= tiny) continue;
    const slopes = (q * pieces.outputs + output) * n;
    let offset = pieces.offset[q * pieces.outputs + output];
    for (let k = 0; k < n; k++) if (k !== i && k !== j) offset += pieces.gradient[slopes + k] * at[k];
    shapes.push({ corners, law: [pieces.gradient[slopes + i], pieces.gradient[slopes + j], offset], piece: q });
  }
  return shapes;
}

const valueAt = (law, x, y) => law[0] * x + law[1] * y + law[2];

// Whether a point is in a polygon, or nearer to it than `slack`, in units in which the frame is a unit square.
function contains(corners, x, y, slack, { across, up }) {
  let sign = 0;
  for (let i = 0; i < corners.length; i += 2) {
    const j = (i + 2) % corners.length;
    const dx = (corners[j] - corners[i]) * across, dy = (corners[j + 1] - corners[i + 1]) * up;
    const side = dx * (y - corners[i + 1]) * up - dy * (x - corners[i]) * across;
    const room = slack * Math.hypot(dx, dy);
    if (side > room) { if (sign < 0) return false; sign = 1; }
    if (side < -room) { if (sign > 0) return false; sign = -1; }
  }
  return true;
}

// Finds shapes by place: a grid of cells, each with the shapes whose boxes meet it.
class Locator {
  constructor(shapes, frame) {
    this.shapes = shapes;
    this.side = Math.min(200, Math.max(1, Math.ceil(1.5 * Math.sqrt(shapes.length))));
    [this.left, this.low] = frame;
    this.wide = (frame[2] - frame[0]) / this.side;
    this.tall = (frame[5] - frame[1]) / this.side;
    [this.across, this.up] = [1 / (frame[2] - frame[0]), 1 / (frame[5] - frame[1])]; // inputs may have different units
    this.slack = 1e-9;
    this.cells = Array.from({ length: this.side * this.side }, () => []);
    shapes.forEach((shape, s) => {
      const [x0, x1, y0, y1] = Locator.bounds(shape.corners);
      for (let u = this.column(x0); u <= this.column(x1); u++)
        for (let v = this.line(y0); v <= this.line(y1); v++) this.cells[v * this.side + u].push(s);
    });
  }
  static bounds(corners) {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < corners.length; i += 2) {
      x0 = Math.min(x0, corners[i]); x1 = Math.max(x1, corners[i]);
      y0 = Math.min(y0, corners[i + 1]); y1 = Math.max(y1, corners[i + 1]);
    }
    return [x0, x1, y0, y1];
  }
  column(x) { return Math.min(this.side - 1, Math.max(0, Math.floor((x - this.left) / this.wide))); }
  line(y) { return Math.min(this.side - 1, Math.max(0, Math.floor((y - this.low) / this.tall))); }
  near(x, y) { return this.cells[this.line(y) * this.side + this.column(x)]; }
  find(x, y) {
    // Where several facets meet, shapes too small to be drawn lie between the others: the next one will do.
    for (const slack of [this.slack, 1e3 * this.slack])
      for (const s of this.near(x, y)) if (contains(this.shapes[s].corners, x, y, slack, this)) return s;
    return -1;
  }
}

// Where the shapes meet: segments with the change of slope across them, positive where the function is convex.
function bendsOf(shapes, locator) {
  const corners = new Map();
  const cell = (x, y) => locator.line(y) * locator.side + locator.column(x);
  for (const shape of shapes)
    for (let i = 0; i < shape.corners.length; i += 2) {
      const key = cell(shape.corners[i], shape.corners[i + 1]);
      if (!corners.has(key)) corners.set(key, []);
      corners.get(key).push(shape.corners[i], shape.corners[i + 1]);
    }
  const bends = [];
  shapes.forEach((shape, s) => {
    for (let i = 0; i < shape.corners.length; i += 2) {
      const j = (i + 2) % shape.corners.length;
      splitEdge(shape.corners, i, j, corners, locator).forEach(({ ends: [x0, y0, x1, y1], beyond }) => {
        const other = locator.find(...beyond);
        if (other <= s) return; // outside, itself, or found from the other side
        const one = shape.law, two = shapes[other].law;
        const length = Math.hypot(x1 - x0, y1 - y0);
        let [nx, ny] = [(y1 - y0) / length, (x0 - x1) / length];
        if ((beyond[0] - x0) * nx + (beyond[1] - y0) * ny < 0) [nx, ny] = [-nx, -ny];
        bends.push({ x0, y0, x1, y1, one: s, two: other, jump: (two[0] - one[0]) * nx + (two[1] - one[1]) * ny });
      });
    }
  });
  return bends;
}

// An edge cut at the corners of other shapes that lie on it, each part with a point just beyond it. Lengths are in units
// in which the frame is a unit square.
function splitEdge(shape, i, j, corners, locator) {
  const { across, up, slack } = locator;
  const [ax, ay, bx, by] = [shape[i] * across, shape[i + 1] * up, shape[j] * across, shape[j + 1] * up];
  const length = Math.hypot(bx - ax, by - ay);
  if (length <= 4 * slack) return [];
  const [dx, dy] = [(bx - ax) / length, (by - ay) / length];
  const [mx, my] = middle(shape);
  const out = (mx * across - ax) * dy - (my * up - ay) * dx < 0 ? 1 : -1;
  const cuts = [0, length];
  const [u0, u1] = [locator.column(Math.min(shape[i], shape[j])), locator.column(Math.max(shape[i], shape[j]))];
  const [v0, v1] = [locator.line(Math.min(shape[i + 1], shape[j + 1])), locator.line(Math.max(shape[i + 1], shape[j + 1]))];
  for (let u = u0; u <= u1; u++)
    for (let v = v0; v <= v1; v++) {
      const points = corners.get(v * locator.side + u) || [];
      for (let k = 0; k < points.length; k += 2) {
        const [px, py] = [points[k] * across - ax, points[k + 1] * up - ay];
        const along = px * dx + py * dy;
        if (Math.abs(px * dy - py * dx) <= 4 * slack && along > 0 && along < length) cuts.push(along);
      }
    }
  cuts.sort((p, q) => p - q);
  const at = (t, off = 0) => [(ax + dx * t + off * dy) / across, (ay + dy * t - off * dx) / up];
  const parts = [];
  for (let k = 1; k < cuts.length; k++)
    if (cuts[k] - cuts[k - 1] > 4 * slack)
      parts.push({ ends: [...at(cuts[k - 1]), ...at(cuts[k])], beyond: at((cuts[k - 1] + cuts[k]) / 2, out * 20 * slack) });
  return parts;
}
