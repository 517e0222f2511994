// A function of one input: its graph through the ends of its pieces.

// The ends of the pieces in the window with the values there: [x0, y0, x1, y1, piece] from left to right.
function lineSegments(item, data, output) {
  const [low, high] = data.box[0];
  const segments = [];
  if (item.pieces) {
    const { pieces } = item;
    for (let q = 0; q < pieces.count; q++) {
      let [from, to] = [low, high];
      for (let r = pieces.start[q]; r < pieces.start[q + 1]; r++) {
        const row = pieces.row[r], sign = row < 0 ? -1 : 1, base = 2 * (row < 0 ? ~row : row);
        const a = sign * pieces.rows[base], b = sign * pieces.rows[base + 1];
        if (a > 0) to = Math.min(to, b / a);
        if (a < 0) from = Math.max(from, b / a);
      }
      if (from >= to) continue;
      const [g, c] = [pieces.gradient[q * pieces.outputs + output], pieces.offset[q * pieces.outputs + output]];
      segments.push([from, g * from + c, to, g * to + c, q]);
    }
    return segments.sort((one, two) => one[0] - two[0]);
  }
  const steps = 1500;
  for (let k = 0; k < steps; k++) {
    const [x0, x1] = [k, k + 1].map((i) => low + ((high - low) * i) / steps);
    segments.push([x0, networkValue(item.network.layers, [x0], output), x1, networkValue(item.network.layers, [x1], output), null]);
  }
  return segments;
}

function lineField(item, data, output) {
  const segments = lineSegments(item, data, output);
  const near = (x, slack) => segments.findIndex(([from, , to]) => from - slack <= x && x <= to + slack);
  const find = (x) => { // float data may leave gaps of rounding between pieces
    const s = near(x, 0);
    return s < 0 ? near(x, 1e-9 * (data.box[0][1] - data.box[0][0])) : s;
  };
  const value = (x) => {
    const s = find(x);
    if (s < 0) return NaN;
    const [x0, y0, x1, y1] = segments[s];
    return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  };
  return { segments, find, value, shapes: null, ...spread(segments.flatMap(([, y0, , y1]) => [y0, y1])) };
}

function lineDifference(one, two, bound, [low, high]) {
  const ends = new Set([low, high]);
  for (const field of [one, two]) for (const [x0, , x1] of field.segments) { ends.add(x0); ends.add(x1); }
  const xs = [...ends].sort((a, b) => a - b);
  const gapOf = boundedGap(one, two, bound), gap = (x) => gapOf(one.value(x), two.value(x));
  const segments = xs.slice(1).map((x, k) => [xs[k], gap(xs[k]), x, gap(x), null]).filter((s) => !s.some(Number.isNaN));
  return { segments, find: () => -1, value: gap, shapes: null, ...spread(segments.flatMap(([, y0, , y1]) => [y0, y1])) };
}

function lineBends(field) {
  const bends = [];
  for (let k = 1; k < field.segments.length; k++) {
    const [a, b] = [field.segments[k - 1], field.segments[k]];
    const slope = (s) => (s[3] - s[1]) / (s[2] - s[0]);
    bends.push({ x: b[0], y: b[1], jump: slope(b) - slope(a) });
  }
  return bends;
}

function drawCurve(canvas, view, { pen, width, height } = sharp(canvas)) {
  const { data, field, others } = view;
  const [left, right] = view.shown[0];
  const inView = (f) => f.segments.filter(([x0, , x1]) => x1 >= left && x0 <= right).flatMap(([x0, , x1]) => [f.value(Math.max(x0, left)), f.value(Math.min(x1, right))]);
  const all = spread([field, ...others].flatMap(view.window ? inView : (f) => [f.bottom, f.top]));
  const room = 0.08 * (all.top - all.bottom) || 1;
  const frame = frameOf(width, height, [left, right], [all.bottom - room, all.top + room]);
  drawAxes(pen, frame, width, height, [data.labels[0], data.values[view.output]]);
  within(pen, frame, () => drawGraphs(pen, frame, view));
  return frame;
}

function drawGraphs(pen, frame, view) {
  const { field, others } = view;
  if (view.hinge) drawLineHinge(pen, frame, view.hinge);
  [...others, field].forEach((f) => {
    pen.strokeStyle = f === field ? themeColour("--ours") : css(CONVEX);
    pen.lineWidth = f === field ? 2.2 : 1.6;
    pen.setLineDash(f === field ? [] : [6, 4]);
    drawSegments(pen, frame, f.segments);
  });
  pen.setLineDash([]);
  if (view.bends) drawDots(pen, frame, view);
  for (const mark of view.marks) drawRing(pen, frame.x(mark.point[0]), frame.y(field.value(mark.point[0]) || 0), mark.severity === "note" ? "#777" : "#d50000");
  const x = view.at[0], y = field.value(x);
  pen.strokeStyle = themeColour("--ink");
  pen.lineWidth = 1;
  drawSegments(pen, frame, [[x, frame.low, x, frame.high]]);
  if (!Number.isNaN(y)) { pen.lineWidth = 2; drawPlus(pen, frame.x(x), frame.y(y)); }
  if (view.pinned && !Number.isNaN(y)) drawPin(pen, frame.x(x), frame.y(y));
}

function drawDots(pen, frame, view) {
  const most = steepest(view.bends) || 1;
  for (const bend of view.bends) {
    const share = Math.abs(bend.jump) / most;
    if (share < 1e-9) continue;
    pen.beginPath();
    pen.arc(frame.x(bend.x), frame.y(bend.y), view.mode === "bends" ? 2 + 4 * share : 2.4, 0, 2 * Math.PI);
    pen.fillStyle = view.mode === "bends" ? css(bend.jump > 0 ? CONVEX : CONCAVE) : themeColour("--ours");
    pen.fill();
  }
}

function drawLineHinge(pen, frame, hinge) {
  pen.fillStyle = "rgba(194,24,91,.14)";
  for (const [a, b] of hinge.intervals) pen.fillRect(frame.x(a), MARGIN.top, frame.x(b) - frame.x(a), frame.h);
  pen.strokeStyle = "#c2185b";
  pen.lineWidth = 2.5;
  drawSegments(pen, frame, hinge.zeros.map((x) => [x, frame.low, x, frame.high]));
}
