// Review answers are saved while typing: on the server, and in this browser until the server has them.
(() => {
  const form = document.getElementById("review-form");
  if (!form) return;
  const SOON = 600, AGAIN = 4000; // milliseconds
  const META = new Set(["csrfmiddlewaretoken", "revision", "seconds", "action", "reason"]);
  const KEY = `prove-review:${form.dataset.person}:${form.dataset.review}:${location.pathname}`;
  const done = form.querySelector(".review-all").disabled;
  const badge = document.getElementById("saved"), words = document.getElementById("saved-text");
  const two = document.getElementById("two");
  let timer = 0, sending = null, dirty = false, sent = "", other = null, leaving = false;

  // Count the time while the page is visible.
  const before = Number(form.elements.seconds.value) || 0;
  let spent = 0, since = document.hidden ? 0 : performance.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { if (since) spent += performance.now() - since; since = 0; flush(); }
    else since = performance.now();
  });
  const seconds = () => before + (spent + (since ? performance.now() - since : 0)) / 1000;

  // The form's values, without empty and unchanged ones.
  function fields() {
    const found = {};
    for (const [name, value] of new FormData(form)) {
      const box = form.elements[name];
      if (META.has(name) || !value.trim() || value === box?.dataset?.recorded) continue;
      (found[name] ??= []).push(value.replaceAll("\r\n", "\n"));
    }
    return found;
  }
  const spelled = (of) => JSON.stringify(Object.entries(of).filter(([, all]) => all.some((one) => one.trim())).sort());

  function put(given) {
    for (const box of form.elements) {
      if (!box.name || META.has(box.name)) continue;
      const values = given[box.name] ?? [];
      if (["radio", "checkbox"].includes(box.type)) box.checked = box.value ? values.includes(box.value) : !values.length;
      else box.value = values[0] ?? box.dataset.recorded ?? "";
      if (box.dataset.recorded !== undefined && values.length) box.closest("details").open = true;
    }
  }

  function tell(state, text) {
    badge.dataset.state = state;
    if (words.textContent !== text) words.textContent = text;
  }
  const clock = (at) => at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

  function remember() {
    try { localStorage.setItem(KEY, JSON.stringify({ fields: fields(), revision: form.elements.revision.value })); }
    catch { tell("away", "No copy in this browser: its storage is full"); }
  }
  const forget = () => { try { localStorage.removeItem(KEY); } catch { /* nothing to remove */ } };

  form.addEventListener("input", () => {
    dirty = true;
    remember();
    clearTimeout(timer);
    if (!other) timer = setTimeout(flush, SOON);
  });

  async function flush() {
    clearTimeout(timer);
    if (!dirty || other || leaving || done) return;
    if (sending) { await sending; return flush(); }
    dirty = false;
    const answer = await post("draft");
    if (!answer) dirty = true;
    else if (!dirty) forget();
  }

  const token = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? form.elements.csrfmiddlewaretoken.value;

  // Send the form; resolve to null if it was not accepted, which the badge then shows.
  function post(action) {
    form.elements.csrfmiddlewaretoken.value = token(); // the token changes after signing in again
    const body = new FormData(form), now = spelled(fields());
    body.set("action", action);
    body.set("seconds", seconds().toFixed(1));
    tell("saving", action === "draft" ? "Saving" : "Sending");
    sending = fetch(location.pathname, { method: "POST", body, headers: { Accept: "application/json" }, redirect: "manual", keepalive: document.hidden })
      .then((response) => taken(response, action, now), () => away("No connection: kept in this browser"))
      .finally(() => { sending = null; });
    return sending;
  }

  async function taken(response, action, now) {
    if (response.type === "opaqueredirect") return stays("You are signed out: kept in this browser. Sign in in another tab, then continue");
    if (response.status >= 500) return away("Server error: kept in this browser");
    if (response.status === 413) return stays("Too long to save: kept in this browser. Shorten it");
    const data = await response.json().catch(() => null);
    if (response.ok && data) {
      if (data.next) return data;
      form.elements.revision.value = data.revision;
      sent = now;
      tell(data.extra ? "extra" : "saved", `Saved ${clock(new Date(data.saved))}${data.extra ? ", as an extra review" : ""}`);
      return data;
    }
    if (response.status === 404) return stays("Item not found, perhaps its dataset was deleted: kept in this browser");
    if (!data) return stays("You can no longer edit this review: kept in this browser");
    if (data.fields && data.state !== "done") return differs(data, action, now);
    return action === "draft" ? stays(`Not saved: ${data.fault}`) : { refused: true };
  }

  function away(text) {
    tell("away", text);
    clearTimeout(timer);
    timer = setTimeout(flush, AGAIN);
    return null;
  }
  function stays(text) { tell("away", text); return null; }
  addEventListener("online", flush);

  // The saved version differs: from this page, whose response was lost, or from another page.
  function differs(data, action, now) {
    const theirs = spelled(data.fields);
    form.elements.revision.value = data.revision;
    if (theirs === sent || theirs === now) return post(action);
    other = data;
    sent = theirs;
    two.hidden = false;
    document.getElementById("two-other").textContent = readable(data.fields);
    return stays("Two versions were saved: choose one above");
  }
  const readable = (of) => Object.entries(of).map(([name, all]) => `${named(name)}: ${all.join(", ")}`).join("\n") || "No answers.";
  function named(name) {
    const box = form.querySelector(`[name="${CSS.escape(name)}"]`);
    return box?.closest(".place")?.getAttribute("aria-label")?.concat(", ", title(box)) ?? (box ? title(box) : name);
  }
  const title = (box) => box.closest("fieldset.question")?.querySelector("legend")?.innerText.replace("*", "").trim()
    ?? box.getAttribute("aria-label") ?? "Comment";

  two.addEventListener("click", ({ target }) => {
    const keep = target.closest("[data-keep]")?.dataset.keep;
    if (!keep || !other) return;
    const data = other;
    other = null;
    two.hidden = true;
    if (keep === "other") put(data.fields);
    dirty = true;
    remember();
    flush();
    form.querySelector("[data-question]")?.focus();
  });

  // Completing and skipping lead to the next item; a rejected form is submitted normally, so that the page shows why.
  form.addEventListener("submit", async (event) => {
    const action = event.submitter?.value;
    if (done || !["complete", "skip"].includes(action)) return;
    event.preventDefault();
    if (leaving || other) return;
    leaving = true;
    clearTimeout(timer);
    remember();
    await sending;
    const answer = await post(action);
    if (answer?.next) { forget(); return location.assign(answer.next); }
    leaving = false;
    if (!answer?.refused) { dirty = true; return; }
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "action", value: action }));
    form.elements.seconds.value = seconds().toFixed(1);
    form.submit();
  });

  // A draft in this browser, such as from a page closed without a connection.
  for (const time of document.querySelectorAll("time[data-clock]")) time.textContent = clock(new Date(time.dateTime));
  let draft = null;
  try { draft = JSON.parse(localStorage.getItem(KEY)); } catch { /* not written by this script */ }
  if (!draft?.fields || done || document.getElementById("refused")) return;
  const here = fields();
  if (spelled(draft.fields) === spelled(here)) forget();
  else {
    put(draft.fields);
    dirty = true;
    if (draft.revision === form.elements.revision.value) flush();
    else differs({ fields: here, revision: form.elements.revision.value, state: "draft" }, "draft", "");
  }
})();
