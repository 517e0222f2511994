// What is known beside the pictures: costs, bounds, proof, findings, how to make it again.

function costTable(costs) {
  const largest = Math.max(...costs.rows.map((row) => (typeof row.neurons === "number" ? row.neurons : 0)), 1);
  const bar = (row) => {
    if (row.log10 === null) return make("td", { class: "bar-cell" });
    const share = Math.max(1.5, (100 * Math.min(row.log10, 12)) / Math.max(Math.min(costs.largest, 12), 0.3));
    return make("td", { class: "bar-cell" }, make("span", { class: `bar ${row.kind}`, style: `width:${Math.min(share, 100)}%` }));
  };
  const line = (row) => make("tr", { class: row.taken ? "taken" : "" },
    make("th", { scope: "row" }, row.name, row.about ? make("small", {}, row.about) : null),
    make("td", {}, row.text), make("td", {}, count(row.layers)), make("td", {}, count(row.width)), make("td", {}, count(row.nonzeros)),
    make("td", {}, row.error === null ? "–" : number(row.error)), bar(row));
  const head = ["", "neurons", "layers", "width", "nonzeros", "predicted error", "neurons, logarithmic"];
  const table = make("table", { id: "costs-table" },
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...costs.rows.map(line)));
  return largest && make("div", { class: "wide" }, table);
}

// Neurons and bytes of C code for each error that is allowed; every distance is exact.
function tradeoffTable(rows) {
  const largest = Math.max(...rows.map((row) => row.neurons), 1);
  const line = (row) => make("tr", { class: row.proposal === "equal" ? "taken" : "" },
    make("th", { scope: "row" }, row.within === "exact" ? "equal" : row.within),
    make("td", {}, count(row.neurons)), make("td", {}, count(row.layers)), make("td", {}, count(row.bytes)),
    make("td", {}, row.share === null ? number(rational(row.distance)) : `${number(100 * row.share)} %`),
    make("td", {}, row.proposal), make("td", {}, row.proved === null ? "–" : row.proved ? "yes" : "no"),
    make("td", { class: "bar-cell" }, make("span", { class: "bar taken", style: `width:${Math.max(1.5, (100 * row.neurons) / largest)}%` })));
  const head = ["allowed error", "neurons", "layers", "bytes of C", "exact distance", "proposal", "proved", "neurons"];
  return make("div", { class: "wide" }, make("table", { id: "tradeoff-table" },
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map(line))));
}

function rational(text) {
  const [above, below] = text.split("/");
  return Number(above) / Number(below || 1);
}

function lowerBounds(bounds) {
  return make("ul", { id: "lower-bounds" }, ...bounds.map((bound) => make("li", {}, make("b", {}, `at least ${count(bound.neurons)} neurons`), ` ${bound.text}`)));
}

function proofTable(proofs, statements) {
  const first = proofs.findIndex((proof) => proof.numbered); // a verdict on a pair stands before the proofs
  const claims = (statements || { claims: [] }).claims;
  return make("dl", { id: "proofs" }, ...proofs.flatMap((proof, k) => {
    const claim = claims.find((one) => one.proof === k - first);
    return [
      make("dt", {}, make("span", { class: `chip ${proof.state}` }, proof.word), ` ${proof.what}`),
      make("dd", {}, make("p", {}, proof.statement), ...proof.lines.map((line) => make("p", { class: "soft" }, line)), claim ? checkHere(statements, claim) : null),
    ];
  }));
}

const CELLS = 300000; // more take minutes

// A button that decides a statement again, in this browser, in exact arithmetic.
function checkHere(statements, claim) {
  const said = make("span", { class: "checked", "aria-live": "polite" });
  const button = make("button", { type: "button", class: "check", onclick: () => run() }, "check it in this browser");
  const run = () => {
    button.disabled = true;
    const begin = performance.now(), steps = verify.walk({ n: statements.n, pieces: statements.pieces, layers: claim.layers });
    const more = () => {
      const until = performance.now() + 40;
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done) return end(step.value);
        if (step.value.cells >= CELLS) return tell("", `not decided: more than ${count(CELLS)} cells`);
        if (performance.now() > until) { said.textContent = ` piece ${count(step.value.piece + 1)} of ${count(statements.pieces.length)}`; return setTimeout(more); }
      }
    };
    const tell = (state, text) => { button.disabled = false; said.replaceChildren(" ", make("span", { class: `chip ${state}` }, state === "good" ? "confirmed" : state === "wrong" ? "refuted" : "open"), " " + text); };
    const end = (found) => tell(verify.holds(found, verify.bound(claim.bound)) ? "good" : "wrong", verdictText(found, performance.now() - begin));
    setTimeout(more);
  };
  return make("p", {}, button, said);
}

function verdictText(found, time) {
  const looked = ` (${count(found.cells)} cells of all pieces, exact integers, ${(time / 1000).toFixed(1)} s)`;
  if (found.endless) return "they differ without bound" + looked;
  if (!found.solid) return "no piece has an interior: there is nothing to prove";
  if (found.worst[0] === 0n) return "network = function on every piece" + looked;
  const point = found.at.slice(0, -1).map((v) => ratio(v, found.at[found.at.length - 1]));
  return `the largest difference is ${number(ratio(...found.worst))}, at ${pointText(point)}` + looked;
}

// A quotient of long integers as a number, with 60 bits.
function ratio(above, below) {
  const length = (x) => (x < 0n ? -x : x).toString(2).length;
  const shift = Math.max(0, 60 + length(below) - length(above));
  return Number((above << BigInt(shift)) / below) * 2 ** -Math.min(shift, 1000) * 2 ** -Math.max(0, shift - 1000);
}

function findingList(findings, goTo) {
  const shown = findings.slice(0, 60);
  const rows = shown.map((finding, k) => make("li", {},
    make("span", { class: `chip ${finding.severity === "error" ? "wrong" : ""}` }, finding.severity), ` ${finding.kind}: ${finding.message} `,
    witness(finding, k, goTo)));
  if (findings.length > shown.length) rows.push(make("li", {}, `… and ${count(findings.length - shown.length)} more`));
  return make("ul", { id: "findings" }, ...rows);
}

// A button that leads to the witness of a finding, where it is in the window; otherwise the point in words.
function witness(finding, k, goTo) {
  if (!finding.point) return null;
  if (!inWindow(finding.point)) return make("span", { class: "soft" }, `at ${pointText(finding.point)}, outside the picture`);
  return make("button", { type: "button", class: "witness", "data-finding": k, onclick: () => goTo(finding) }, `show at ${pointText(finding.point)}`);
}

function recipe(steps) {
  return make("div", {}, ...steps.flatMap((step) => [make("p", {}, step.what), make("pre", {}, make("code", {}, step.code))]));
}

function section(id, title, ...children) {
  return make("section", { id, "aria-labelledby": id + "-title" }, make("h2", { id: id + "-title" }, title), ...children);
}
