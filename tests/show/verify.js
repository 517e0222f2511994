// Decide statements, one JSON object a line, as the page does; print the verdict on each.
const fs = require("fs"), path = require("path");
const source = fs.readFileSync(path.join(__dirname, "../../src/cpwl/show/explorer/verify.js"), "utf8");
const verify = new Function(source + "; return verify;")();
for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { n, pieces, claims } = JSON.parse(line);
  for (const claim of claims) {
    const steps = verify.walk({ n, pieces, layers: claim.layers });
    let step = steps.next();
    while (!step.done) step = steps.next();
    const found = step.value;
    console.log(JSON.stringify({ holds: verify.holds(found, verify.bound(claim.bound)), worst: found.worst.join("/"), endless: Boolean(found.endless), solid: found.solid, cells: found.cells }));
  }
}
