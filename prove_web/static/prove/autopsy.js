// The tree of a group's calls: fold and unfold all of it. Each branch folds by itself, without this.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-fold]");
  if (!button) return;
  for (const branch of document.querySelectorAll(".tree details")) branch.open = button.dataset.fold === "open";
});

// The call whose rollouts are shown is the one that was chosen last; the address says the same to who loads the page.
document.addEventListener("click", (event) => {
  const chosen = event.target.closest?.(".branch-call");
  if (!chosen) return;
  for (const call of document.querySelectorAll(".branch-call")) call.classList.toggle("branch-call-current", call === chosen);
});
