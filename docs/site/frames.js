// Explorer pages in a frame have the colours of the page around them.
const dress = () => {
  const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  for (const frame of document.querySelectorAll("iframe.explorer")) frame.contentWindow.postMessage({ theme }, "*");
};
addEventListener("load", dress);
new MutationObserver(dress).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
