// j and k go to the next and previous conversation of a sample.
document.addEventListener("keydown", (event) => {
  const by = { j: 1, k: -1 }[event.key];
  if (!by || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
  const all = [...document.querySelectorAll(".sample-one")], here = document.activeElement.closest(".sample-one");
  const top = all.findLastIndex((one) => one.getBoundingClientRect().top < 40); // the conversation being read
  const next = all[(here ? all.indexOf(here) : by > 0 ? top : top + (top < 0)) + by];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start", behavior: "instant" });
});
