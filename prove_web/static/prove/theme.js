// Dark or light: what the person chose, else what the machine prefers. Loaded before the page is painted.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("theme"); } catch { return null; } };

  function wear(theme) {
    root.setAttribute("data-bs-theme", theme);
    document.dispatchEvent(new Event("prove:theme"));
  }

  const apply = () => wear(chosen() ?? (dark.matches ? "dark" : "light"));

  apply();
  dark.addEventListener("change", apply);
  addEventListener("beforeprint", () => wear("light")); // as paper is
  addEventListener("afterprint", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const other = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", other); } catch { root.setAttribute("data-bs-theme", other); }
    apply();
  });
})();
