// Typeset the formulas of a page, and again where the theme replaces a page without loading it.
const typeset = () => renderMathInElement(document.body, { delimiters: [
  { left: "\\(", right: "\\)", display: false }, { left: "\\[", right: "\\]", display: true }] });
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", typeset); else typeset();
