// Drafts of notes are saved in this browser until the server confirms that the notes were saved.
(() => {
  const key = (form) => `run-notes:${form.dataset.person}:${form.dataset.notes}`;
  const say = (form, text) => { form.querySelector("[data-notes-said]").textContent = text; };

  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("form[data-notes]");
    if (!form || target.name !== "notes") return;
    try {
      localStorage.setItem(key(form), JSON.stringify({ text: target.value, revision: form.elements.revision.value }));
      say(form, "Draft saved in this browser");
    } catch { say(form, "Draft not saved: browser storage is full"); }
  });

  // A draft is deleted once it equals the text on the page; text typed since then stays, based on the new revision.
  let sent = false;
  document.addEventListener("submit", ({ target }) => { if (target.matches("form[data-notes]")) sent = true; }, true);

  function settle() {
    const form = document.querySelector("form[data-notes]");
    if (!form || form.dataset.ready) return;
    form.dataset.ready = "1";
    let draft = null;
    try { draft = JSON.parse(localStorage.getItem(key(form)) ?? "null"); } catch { /* not written by this script */ }
    const box = form.elements.notes;
    if (!draft || "fault" in form.dataset) return;
    if (draft.text.trim() === box.value.trim()) return localStorage.removeItem(key(form));
    box.value = draft.text;
    if (!sent) form.elements.revision.value = draft.revision;
    sent = false;
    form.closest("details").open = true;
    say(form, "Unsaved draft restored");
  }

  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-notes]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
  document.addEventListener("htmx:after:swap", settle);
  document.addEventListener("htmx:error", () => {
    const form = document.querySelector("form[data-notes]");
    if (form && sent) say(form, "Not saved: the server does not respond. Your draft is in this browser");
  });
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", settle);
  else settle();
})();
