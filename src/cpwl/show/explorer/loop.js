// The closed loop: the next point is A x + B u(x), from the point on the map, as long as the law is defined.

const STEPS = 60, PAUSE = 90; // milliseconds between two steps on show
const LINES = ["#1f77b4", "#d1495b", "#2e8b57", "#b8860b", "#7b4fb5", "#00838f"];

// All outputs of the law at a point; null where no piece is.
function lawAt({ pieces, network }, n, point) {
  if (!pieces) return Array.from(sums(network.layers, point).pop());
  const slack = 1e-9 * Math.max(1, ...Array.from(point, Math.abs));
  const excess = (row) => {
    const base = (row < 0 ? ~row : row) * (n + 1);
    let sum = -pieces.rows[base + n];
    for (let k = 0; k < n; k++) sum += pieces.rows[base + k] * point[k];
    return row < 0 ? -sum : sum;
  };
  for (let q = 0; q < pieces.count; q++) {
    let r = pieces.start[q];
    while (r < pieces.start[q + 1] && excess(pieces.row[r]) <= slack) r += 1;
    if (r < pieces.start[q + 1]) continue;
    return Array.from({ length: pieces.outputs }, (_, j) => {
      const at = q * pieces.outputs + j;
      return point.reduce((sum, v, k) => sum + pieces.gradient[at * n + k] * v, pieces.offset[at]);
    });
  }
  return null;
}

// Points and moves from a start; it ends where the law is not defined.
function runLoop(one, { n, plant }, start) {
  const points = [Array.from(start)], moves = [];
  const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, v, k) => sum + v * vector[k], 0));
  while (moves.length < STEPS) {
    const here = points[points.length - 1], move = lawAt(one, n, here);
    if (move === null) break;
    const pushed = times(plant.B, move);
    moves.push(move);
    points.push(times(plant.A, here).map((v, k) => v + pushed[k]));
  }
  return { points, moves };
}

function loopText({ points, moves }) {
  if (!moves.length) return "The law is not defined here.";
  if (moves.length < STEPS) return `After ${count(moves.length)} steps the point is ${pointText(points[moves.length])}, where the law is not defined.`;
  return `After ${count(STEPS)} steps: ${pointText(points[STEPS])}.`;
}

// The way on the map, up to a step.
function drawPath(pen, frame, axes, points) {
  const place = (point) => [frame.x(point[axes[0]]), frame.y(point[axes[1]])];
  for (const [line, style] of [[4.5, "#fff"], [2, "#111"]]) {
    pen.lineWidth = line;
    pen.strokeStyle = pen.fillStyle = style;
    pen.beginPath();
    points.forEach((point, k) => (k ? pen.lineTo(...place(point)) : pen.moveTo(...place(point))));
    pen.stroke();
    points.forEach((point, k) => { pen.beginPath(); pen.arc(...place(point), (k === points.length - 1 ? 4 : 2) + line / 4, 0, 2 * Math.PI); pen.fill(); });
  }
}

// Each coordinate against time: points as they are, moves held for a step.
function drawSeries(canvas, rows, names, held) {
  const { pen, width, height } = sharp(canvas);
  const { bottom, top } = spread(rows.flat());
  const room = 0.08 * (top - bottom || 1);
  const frame = frameOf(width, height, [0, STEPS], [bottom - room, top + room]);
  drawAxes(pen, frame, width, height, ["step", ""]);
  let end = width - 12; // names stand at the right, the last one first
  names.map((name, k) => [name, k]).reverse().forEach(([name, k]) => {
    pen.strokeStyle = pen.fillStyle = LINES[k % LINES.length];
    pen.lineWidth = 2;
    pen.beginPath();
    rows.forEach((row, t) => { pen.lineTo(frame.x(t), frame.y(row[k])); if (held) pen.lineTo(frame.x(t + 1), frame.y(row[k])); });
    pen.stroke();
    pen.font = "600 12px system-ui, sans-serif";
    end -= pen.measureText(name).width;
    pen.fillText(name, end, 24);
    end -= 14;
  });
}

function drawLoop(view) {
  const { points, moves } = view.loop;
  const shown = state.step === null ? points.length : state.step + 1;
  drawSeries(find("loop-points"), points.slice(0, shown), data.names, false);
  drawSeries(find("loop-moves"), moves.slice(0, shown), data.named ? data.values : Array.from({ length: data.m }, (_, k) => "u" + (data.m > 1 ? k : "")), true);
  find("loop-text").textContent = loopText(view.loop);
}

// Step by step, until the end or until somebody takes the point away.
function playLoop() {
  clearTimeout(scene.timer);
  state.step = 0;
  const next = () => {
    draw();
    if (state.step >= scene.loop.points.length - 1) state.step = null;
    else { state.step += 1; scene.timer = setTimeout(next, PAUSE); }
  };
  next();
}
