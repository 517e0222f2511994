// The statement of a proof, decided again in this browser, in integers of any length: is the network as near to the
// function as was proved, on every piece? Geometry is a port of `cones.py` of the package cpwl_check; no proof file is
// read. A place is a positive multiple of (x, 1) for a point x, and (r, 0) for a direction r. A form is a row of
// coefficients of (x, 1). A cone is all sums of lines and of non-negative multiples of rays; a ray has bit r of `zero`
// set if row r is 0 there.

const verify = (() => {
  const dot = (u, v) => { let sum = 0n; for (let i = 0; i < u.length; i++) sum += u[i] * v[i]; return sum; };
  const minus = (v) => v.map((x) => -x);
  const size = (x) => (x < 0n ? -x : x);
  const gcd = (a, b) => { a = size(a); b = size(b); while (b) [a, b] = [b, a % b]; return a; };
  const divided = (v) => { const d = v.reduce(gcd, 0n); return d > 1n ? v.map((x) => x / d) : v; };
  const mix = (a, u, b, v) => divided(u.map((x, i) => a * x + b * v[i]));

  // "p/q" and "p", over one positive denominator.
  function overOne(texts) {
    const parts = texts.map((text) => text.split("/").map(BigInt));
    const d = parts.reduce((all, [, below = 1n]) => (all / gcd(all, below)) * below, 1n);
    return [parts.map(([above, below = 1n]) => above * (d / below)), d];
  }

  // The part of a cone where a row is at least 0 (double description: Motzkin, Raiffa, Thompson and Thrall 1953).
  function cut({ lines, rays, rows }, row) {
    const bit = 1n << BigInt(rows);
    const across = lines.findIndex((line) => dot(row, line) !== 0n);
    if (across >= 0) {
      const ray = dot(row, lines[across]) > 0n ? lines[across] : minus(lines[across]), v = dot(row, ray);
      const flat = (g) => mix(v, g, -dot(row, g), ray);
      const others = lines.filter((_, i) => i !== across).map(flat);
      return { lines: others, rays: [...rays.map(({ g, zero }) => ({ g: flat(g), zero: zero | bit })), { g: ray, zero: bit - 1n }], rows: rows + 1 };
    }
    const valued = rays.map(({ g, zero }) => ({ g, zero, v: dot(row, g) }));
    const above = valued.filter(({ v }) => v > 0n), below = valued.filter(({ v }) => v < 0n);
    const on = valued.filter(({ v }) => v === 0n).map(({ g, zero }) => ({ g, zero: zero | bit }));
    // A new ray lies between rays on both sides that no third one shares its zeros with.
    const made = above.flatMap((a) => below.map((b) => ({ a, b, zero: (a.zero & b.zero) | bit })));
    const alone = made.filter(({ a, b }) => !valued.some((c) => c !== a && c !== b && (a.zero & b.zero & c.zero) === (a.zero & b.zero)));
    const fresh = alone.map(({ a, b, zero }) => ({ g: mix(a.v, b.g, -b.v, a.g), zero }));
    return { lines, rays: [...above.map(({ g, zero }) => ({ g, zero })), ...fresh, ...on], rows: rows + 1 };
  }

  // 1 if a row is negative nowhere in a cone, -1 if it is positive nowhere, 0 if it has both signs.
  function side({ lines, rays }, row) {
    if (lines.some((line) => dot(row, line) !== 0n)) return 0;
    let up = false, down = false;
    for (const { g } of rays) { const v = dot(row, g); up ||= v > 0n; down ||= v < 0n; }
    return up && down ? 0 : down ? -1 : 1;
  }

  const unit = (n) => Array.from({ length: n + 1 }, (_, i) => Array.from({ length: n + 1 }, (_, j) => BigInt(Number(i === j))));
  const region = (n, rows) => [unit(n)[n], ...rows].reduce(cut, { lines: unit(n), rays: [], rows: 0 });
  const isSolid = ({ rays }) => rays.length > 0 && rays.reduce((all, { zero }) => all & zero, rays[0].zero) === 0n;

  function readPiece({ A, b, gradient, offset }) {
    const rows = A.map((row, r) => [...row.map(String), b[r]]).map((row) => divided(overOne(row)[0]));
    return { rows: rows.map((row) => [...minus(row.slice(0, -1)), row[row.length - 1]]), laws: gradient.map((slopes, o) => overOne([...slopes, offset[o]])) };
  }

  function readLayer({ bias, entries }) {
    const [numbers, d] = overOne([...bias, ...entries.map(([, , weight]) => weight)]);
    const neurons = bias.map((_, k) => ({ bias: numbers[k], terms: [] }));
    entries.forEach(([i, j], e) => neurons[i].terms.push([j, numbers[bias.length + e]]));
    return { neurons, d };
  }

  // What the neurons of a layer read on a cell, where what comes in is `forms` over `d`.
  function reads(layer, forms, d, n) {
    const zero = Array(n + 1).fill(0n);
    const found = layer.neurons.map(({ bias, terms }) => {
      const sum = [...zero];
      sum[n] = bias * d;
      for (const [j, weight] of terms) for (let i = 0; i <= n; i++) sum[i] += weight * forms[j][i];
      return sum;
    });
    const common = found.flat().reduce(gcd, d * layer.d) || 1n;
    return [found.map((row) => row.map((x) => x / common)), (d * layer.d) / common];
  }

  // Steps through all cells of all pieces; at the end { worst: [numerator, denominator] of sup |network - function|, at,
  // endless: a direction along which they part without bound, cells, solid: whether a piece has an interior }.
  function* walk({ n, pieces, layers }) {
    const net = layers.map(readLayer);
    const found = { worst: [0n, 1n], at: null, endless: null, cells: 0, solid: false };
    for (let q = 0; q < pieces.length; q++) {
      const { rows, laws } = readPiece(pieces[q]);
      const whole = region(n, rows);
      if (!whole.rays.some(({ g }) => g[n] > 0n)) continue; // no point is in it
      found.solid ||= isSolid(whole);
      const todo = [{ cone: whole, depth: 0, forms: unit(n).slice(0, n), d: 1n, read: null, after: [] }];
      while (todo.length) {
        let { cone, depth, forms, d, read, after } = todo.pop();
        for (; ; depth++, [forms, read, after] = [after, null, []]) {
          if (!read) [read, d] = reads(net[depth], forms, d, n);
          if (depth === net.length - 1) break;
          for (let k = after.length; k < read.length; k++) {
            const sign = side(cone, read[k]);
            if (sign === 0) {
              todo.push({ cone: cut(cone, minus(read[k])), depth, forms, d, read, after: [...after] });
              cone = cut(cone, read[k]);
            }
            after.push(sign < 0 ? Array(n + 1).fill(0n) : read[k]);
          }
        }
        compare(found, cone, read, d, laws, n);
        found.cells += 1;
        yield { piece: q, cells: found.cells };
        if (found.endless) return found;
      }
    }
    return found;
  }

  function compare(found, { lines, rays }, read, d, laws, n) {
    for (const g of [...rays.map((ray) => ray.g), ...lines]) {
      laws.forEach(([law, e], o) => {
        const off = size(dot(read[o], g) * e - dot(law, g) * d), below = d * e * g[n];
        if (off && g[n] === 0n) found.endless = g;
        else if (off && off * found.worst[1] > found.worst[0] * below) [found.worst, found.at] = [divided([off, below]), g];
      });
    }
  }

  const holds = (found, [above, below]) => found.solid && !found.endless && found.worst[0] * below <= above * found.worst[1];

  return { walk, holds, bound: (text) => { const [[above], below] = overOne([text]); return [above, below]; } };
})();
