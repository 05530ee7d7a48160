// Drafts of fixes are saved in this browser until submitted, and offered for restoring after the tab was closed.
(() => {
  const KEY = (form) => `prove-fix-${form.dataset.trajectory}`;
  const form = () => document.querySelector("form[data-fix]");
  const bar = document.getElementById("draft");
  const beginning = form() && written(form());

  function written(of) {
    const fields = new URLSearchParams(new FormData(of));
    for (const name of ["csrfmiddlewaretoken", "do"]) fields.delete(name);
    return fields.toString();
  }

  function keep() {
    const mine = form();
    if (!mine) return;
    const typed = written(mine);
    if (typed === beginning) return;
    try { localStorage.setItem(KEY(mine), JSON.stringify({ at: Date.now(), typed })); } catch { /* storage is full */ }
  }

  function readDraft() {
    try { return JSON.parse(localStorage.getItem(KEY(form()))); } catch { return null; }
  }

  document.addEventListener("input", (event) => { if (event.target.closest("form[data-fix]")) keep(); });
  document.addEventListener("change", ({ target }) => { // an object or list value has fields of its own
    if (target.matches("form[data-fix] [data-given]")) form().requestSubmit(form().querySelector("[data-reshape]"));
  });
  document.addEventListener("htmx:finally:swap", () => { keep(); document.querySelector("[data-fault]")?.focus(); });
  document.addEventListener("submit", (event) => {
    const saved = event.submitter?.value === "save" && event.target.matches("form[data-fix]");
    if (saved) sessionStorage.setItem("prove-fix-saving", KEY(event.target));
  }, true);

  // The server renders the draft as it was typed, including moved, added and deleted rows.
  function restore(typed) {
    const sent = Object.assign(document.createElement("form"), { method: "post", hidden: true });
    const fields = [...new URLSearchParams(typed), ["do", "restore"], ["csrfmiddlewaretoken", form().querySelector("[name=csrfmiddlewaretoken]").value]];
    for (const [name, value] of fields) {
      sent.append(Object.assign(document.createElement("textarea"), { name, value }));
    }
    document.body.append(sent);
    sent.submit();
  }

  sessionStorage.removeItem("prove-fix-saving"); // the form is still shown, so the fix was not saved
  const found = form() && readDraft();
  if (!bar || !found || found.typed === beginning || document.querySelector("[data-fault]")) return;
  bar.hidden = false;
  bar.querySelector("[data-draft-when]").textContent = new Date(found.at).toLocaleString();
  bar.addEventListener("click", ({ target }) => {
    const choice = target.closest("[data-draft]")?.dataset.draft;
    if (!choice) return;
    if (choice === "restore") return restore(found.typed);
    localStorage.removeItem(KEY(form()));
    bar.hidden = true;
  });
})();
