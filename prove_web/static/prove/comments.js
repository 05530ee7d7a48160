// Comments of a trajectory: live updates, drafts that survive closing the page, and a button at each user turn and call
// that starts a comment or leads to existing ones.
(() => {
  const section = document.querySelector("[data-comments]");
  if (!section || section.dataset.ready) return;
  section.dataset.ready = "1";
  const storageKey = `comment-draft:${section.dataset.person}:${section.dataset.comments}`;
  const byId = (id) => document.getElementById(id);
  const list = () => byId("comments-list");

  // Refresh the comments. A comment being edited is not replaced until it is saved or cancelled. The list element
  // itself is preserved (outerSync): a response that arrives after its target was replaced would be dropped.
  let missed = false;
  const editing = () => list()?.querySelector(".comment-editing");
  if ("live" in section.dataset) prove.live.subscribe({ trajectory: section.dataset.comments }, ({ stamp }) => {
    if (list() && list().dataset.stamp !== stamp) refresh();
  });

  function refresh() {
    missed = Boolean(editing());
    if (missed || !list()) return;
    const place = document.activeElement?.closest?.("#comments-list [id]")?.id;
    htmx.ajax("GET", `${section.dataset.list}?part=list`, { target: "#comments-list", swap: "outerSync" })
      .then(() => place && byId(place)?.focus())
      .catch(() => {}); // the next update includes what is missed now
  }

  // Drafts are saved while typing and deleted once the comment is posted.
  section.addEventListener("input", (event) => {
    if (event.target.closest("#comment-form")) keep();
  });
  function keep() {
    const [text, place] = [byId("comment-text").value, byId("comment-place").value];
    if (text.trim()) localStorage.setItem(storageKey, JSON.stringify({ text, place }));
    else localStorage.removeItem(storageKey);
  }
  function recall() {
    const form = byId("comment-form");
    if (!form || form.dataset.ready || byId("comment-text").value) return;
    form.dataset.ready = "1";
    try {
      const draft = JSON.parse(localStorage.getItem(storageKey) ?? "null");
      if (!draft) return;
      byId("comment-text").value = draft.text;
      byId("comment-place").value = draft.place;
    } catch { localStorage.removeItem(storageKey); }
  }

  // Only the response to the form confirms the post; text typed since then is not cleared.
  let sent = "";
  section.addEventListener("submit", ({ target }) => { if (target.id === "comment-form") sent = byId("comment-text").value; }, true);
  document.addEventListener("htmx:after:swap", ({ target }) => {
    if (target.id === "comment-form" && list() && !("fault" in list().dataset)) {
      if (byId("comment-text").value === sent) byId("comment-text").value = "";
      keep();
    }
    if (missed && !editing()) refresh();
    settle();
  });

  section.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      event.stopPropagation(); // keeps page-level shortcuts from handling these keys
      event.target.form.requestSubmit();
    }
  });

  // Comment buttons at user turns and calls.
  function settle() {
    recall();
    const counts = {};
    for (const thread of section.querySelectorAll("[data-place]")) counts[thread.dataset.place] = Number(thread.dataset.count);
    const turns = [...document.querySelectorAll(".conversation > .turn-user")];
    turns.forEach((turn, at) => chip(turn.querySelector(".turn-role"), `turn-${at + 1}`, counts));
    for (const call of document.querySelectorAll(".conversation article.call[id^=call-]")) {
      chip(call.querySelector(".call-head"), call.id, counts);
    }
    reveal();
  }

  function chip(where, place, counts) {
    if (!where) return;
    const count = counts[place] ?? 0;
    let button = where.querySelector(":scope > .comment-chip");
    if (!count && !byId("comment-form")) return button?.remove();
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.className = "comment-chip";
      button.append(document.querySelector("#comment-icon").content.cloneNode(true), document.createElement("span"));
      button.addEventListener("click", () => about(place));
      where.append(button);
    }
    const title = place.replace("-", " ");
    button.lastElementChild.textContent = count || "";
    button.classList.toggle("has-comments", count > 0);
    button.setAttribute("aria-label", count ? `${count} comment${count > 1 ? "s" : ""} on ${title}` : `Comment on ${title}`);
  }

  function about(place) {
    const select = byId("comment-place");
    if (select) select.value = place;
    const thread = byId(`thread-${place}`);
    if (thread) {
      if (thread.matches("details")) thread.open = true;
      thread.scrollIntoView({ block: "center" });
    }
    const text = byId("comment-text");
    if (!thread) text?.scrollIntoView({ block: "center" });
    text?.focus({ preventScroll: true });
  }

  // Scroll to a linked comment, which may be loaded after the page.
  let shown = false;
  function reveal() {
    const found = location.hash.startsWith("#comment-") && byId(location.hash.slice(1));
    if (!found || shown) return;
    shown = true;
    found.closest("details")?.setAttribute("open", "");
    found.classList.add("is-target");
    found.scrollIntoView({ block: "center" });
    found.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", () => { shown = false; reveal(); });
  settle();
})();
