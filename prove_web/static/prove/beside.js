// Two conversations in panes of their own: each begins at the call where the two part, or at its end where it has none.
document.addEventListener("DOMContentLoaded", () => {
  const sides = document.querySelector("[data-parting]");
  if (!sides) return;
  ["a", "b"].forEach((key, index) => {
    const pane = sides.children[index], call = document.getElementById(`${key}-call-${sides.dataset.parting}`);
    if (!call) pane.scrollTop = pane.scrollHeight;
    else pane.scrollTop += call.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.querySelector(".side-top").offsetHeight - 8;
  });
});
