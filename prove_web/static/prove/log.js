// Log of a job: the server searches; this script steps through the matches and follows the end of the log.
// <div data-log> contains the form #log-form and the lines #log-lines. The address contains the search.
document.addEventListener("DOMContentLoaded", () => {
  for (const panel of document.querySelectorAll("[data-log]")) follow(panel);
});

function follow(panel) {
  const form = panel.querySelector("form"), lines = panel.querySelector("#log-lines"), count = panel.querySelector(".log-count");
  const follows = panel.querySelector("[data-log-follow]");
  let place = "", at = -1, waiting = null;

  const sought = () => Boolean(form.elements.log.value || form.elements.log_level.value);

  // Search results are not refreshed until the next search; only the end of the log updates itself.
  panel.addEventListener("live", (event) => { if (!follows.checked || sought() || place) event.stopPropagation(); }, true);

  function ask(where = "") {
    place = where;
    const url = new URL(location);
    for (const name of ["log", "log_level"]) {
      if (form.elements[name].value) url.searchParams.set(name, form.elements[name].value);
      else url.searchParams.delete(name);
    }
    history.replaceState(history.state, "", url);
    lines.setAttribute("hx-get", lines.dataset.logUrl + (where ? `?${where}` : ""));
    lines.dispatchEvent(new CustomEvent("seek"));
  }

  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 250);
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); step(1); });
  form.elements.log.addEventListener("input", later);
  form.elements.log_level.addEventListener("change", () => ask());
  follows.addEventListener("change", () => { if (follows.checked && !sought()) ask(); });
  lines.addEventListener("click", (event) => {
    const go = event.target.closest("[data-log-go]");
    if (go) ask(go.dataset.logGo);
  });
  for (const button of panel.querySelectorAll("[data-log-step]")) button.addEventListener("click", () => step(Number(button.dataset.logStep)));

  // Step between matches with wrap-around, starting with the newest.
  function step(by) {
    const marks = [...lines.querySelectorAll("mark")];
    if (!marks.length) return;
    marks[at]?.classList.remove("current");
    at = at < 0 ? marks.length - 1 : (at + by + marks.length) % marks.length;
    marks[at].classList.add("current");
    marks[at].scrollIntoView({ block: "nearest" });
    count.textContent = `${at + 1} of ${marks.length}`;
  }

  document.addEventListener("htmx:after:swap", () => {
    const marks = lines.querySelectorAll("mark").length;
    if (marks && !lines.querySelector("mark.current")) at = -1;
    if (at < 0) count.textContent = marks ? `${marks} match${marks === 1 ? "" : "es"}` : "";
    if (!marks) at = -1;
    if (place.startsWith("at=")) lines.querySelector("#log-here")?.scrollIntoView({ block: "center" });
  });
}
