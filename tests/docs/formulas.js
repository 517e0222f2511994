// Typeset every formula of the pages; print those that cannot be, and how many there are.
const katex = require(require("path").join(__dirname, "../../docs/site/katex/katex.min.js")); const fs = require("fs");
let bad = 0, count = 0;
for (const file of process.argv.slice(2)) {
  let text = fs.readFileSync(file, "utf8").replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
  const take = (re, display) => { text = text.replace(re, (m, f) => { count++; try { katex.renderToString(f, { displayMode: display, throwOnError: true, strict: "error" }); } catch (e) { bad++; console.log(file, f.slice(0, 80), e.message.slice(0, 120)); } if (/\\[{},;!|]/.test(f)) { bad++; console.log(file, "escape", f.slice(0,60)); } return ""; }); };
  take(/\$\$([\s\S]+?)\$\$/g, true); take(/\$([^$\n]+?)\$/g, false);
  if (text.includes("$")) { bad++; console.log(file, "lonely $", text.slice(text.indexOf("$") - 40, text.indexOf("$") + 40)); }
}
console.log(count, "formulas", bad, "bad"); process.exit(bad ? 1 : 0);
