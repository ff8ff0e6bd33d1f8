// How results of a search are ordered: pages that explain come before reference and results.
var Scorer = {
  score: ([docname, , , , score]) => (docname.startsWith("made/") ? score - 100 : docname.startsWith("gallery/") ? score - 50 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
