// Dark or light: what the person chose, else what the machine prefers. Loaded before the page is painted.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };

  function apply() {
    root.setAttribute("data-bs-theme", chosen() ?? (dark.matches ? "dark" : "light"));
    document.dispatchEvent(new Event("prove:theme"));
  }

  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const other = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", other); } catch { root.setAttribute("data-bs-theme", other); }
    apply();
  });
})();
