// Two conversations in separate panes; each scrolls to the call where they diverge, or to its end if it has none.
document.addEventListener("DOMContentLoaded", () => {
  const sides = document.querySelector("[data-parting]");
  if (!sides) return;
  ["a", "b"].forEach((key, index) => {
    const pane = sides.children[index], call = document.getElementById(`${key}-call-${sides.dataset.parting}`);
    if (!call) pane.scrollTop = pane.scrollHeight;
    else pane.scrollTop += call.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.querySelector(".side-top").offsetHeight - 8;
  });
});
