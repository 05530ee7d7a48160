// Dark or light: the user's choice, else the system preference. Loaded before the page is painted.
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
  addEventListener("beforeprint", () => wear("light")); // paper is light
  addEventListener("afterprint", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const other = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", other); } catch { root.setAttribute("data-bs-theme", other); }
    apply();
  });
})();
