// The tree of a group's calls: fold and unfold all of it. Each branch folds by itself, without this.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-fold]");
  if (!button) return;
  for (const branch of document.querySelectorAll(".tree details")) branch.open = button.dataset.fold === "open";
});
