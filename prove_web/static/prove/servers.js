// Copy buttons: <button data-copy="id of the element">.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const said = button.querySelector("span");
  const words = said.textContent;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    said.textContent = "Copied";
  } catch {
    said.textContent = "Select the text and copy it by hand";
  }
  setTimeout(() => { said.textContent = words; }, 2000);
});
