"use strict";
// All is drawn: parts that are folded are opened for paper.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) { part.dataset.was = part.open; part.open = true; }
});
addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = part.dataset.was === "true";
});
document.documentElement.dataset.ready = "true";
