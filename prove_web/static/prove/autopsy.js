// Expands and collapses all branches of a group's call tree. Each branch also works without this script.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-fold]");
  if (!button) return;
  for (const branch of document.querySelectorAll(".tree details")) branch.open = button.dataset.fold === "open";
});

// Mark the most recently selected call; the server marks the one in the address on page load.
document.addEventListener("click", (event) => {
  const chosen = event.target.closest?.(".branch-call");
  if (!chosen) return;
  for (const call of document.querySelectorAll(".branch-call")) call.classList.toggle("branch-call-current", call === chosen);
});
