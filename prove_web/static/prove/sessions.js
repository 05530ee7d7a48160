// Sessions: keyboard shortcuts, input errors shown before a call is sent, and entity autocompletion by name.
(() => {
  const form = () => document.getElementById("call-form");
  const typing = (element) => element.closest?.("input, textarea, select, [contenteditable]");

  // Shortcuts, inactive while typing.
  const GO = { j: "[data-go=after]", k: "[data-go=before]", f: "[data-key=fork]", e: "[data-key=edit]" };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return call(event);
    if (event.altKey && !event.ctrlKey && event.code === "KeyE") return press("[data-key=example]", event);
    if (event.key === "Escape" && typing(event.target)) return event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === "/") return search(event);
    if (GO[event.key]) press(GO[event.key], event);
  });

  function press(selector, event) {
    const found = document.querySelector(selector);
    if (!found) return;
    event.preventDefault();
    once(() => document.querySelector(selector)?.click());
  }

  function call(event) {
    const button = form()?.querySelector("[data-call]");
    if (!button) return;
    event.preventDefault();
    once(() => form()?.requestSubmit(form().querySelector("[data-call]")));
  }

  // htmx does not handle a form until its swap is finished; submitting it earlier would reload the page.
  let swapping = false;
  document.addEventListener("htmx:before:swap", () => { swapping = true; });
  document.addEventListener("htmx:finally:swap", () => { swapping = false; });
  function once(act) {
    if (swapping) document.addEventListener("htmx:finally:swap", act, { once: true });
    else act();
  }

  function search(event) {
    const box = document.getElementById("find_tool");
    if (!box) return press("[data-key=tools]", event);
    event.preventDefault();
    box.focus();
  }

  // Calls by others in this session appear automatically; a form being filled in is not replaced.
  const CALLS = "calls", WITHOUT_THE_NEWEST = "calls-quiet", SOON = 200;
  let pending = false, missed = false;
  const watched = document.getElementById("watched");
  if (watched) prove.live.subscribe({ session: watched.dataset.session }, news);

  function news({ calls, faults, again, gone }) {
    if (gone) return announce("gone");
    again = again ? String(again) : "";
    if (again !== watched.dataset.again) announce("again", again);
    setTimeout(() => { // the response to this page's own call may be on its way
      const seen = document.getElementById("calls")?.dataset;
      if (seen && (calls > Number(seen.calls) || faults !== seen.faults)) bringUp();
    }, SOON);
  }

  // The session was removed or restarted by someone: announce it without changing the page.
  function announce(what, again = "") {
    watched.dataset.again = again;
    const news = what === "again" && !again ? "" : what; // the restarted session may be removed too
    for (const each of document.querySelectorAll("[data-news]")) each.hidden = each.dataset.news !== news;
    if (again) document.querySelector("[data-news=again] a").href = `../${again}/`;
  }

  async function bringUp() {
    if (pending) { missed = true; return; }
    pending = true;
    const typed = [...document.querySelectorAll("#newest input:not([type=hidden])")].some((one) => one.value);
    await htmx.ajax("GET", location.pathname + location.search, {
      swap: "none", target: "#calls", headers: { "HX-Target": typed ? WITHOUT_THE_NEWEST : CALLS },
    }).catch(() => {}); // the next update includes what is missed now
    pending = false;
    const said = document.getElementById("calls")?.dataset.said;
    if (said) document.getElementById("said").textContent = said;
    if (missed) { missed = false; bringUp(); }
  }

  // A swap preserves scroll positions, and screen readers are told the result of a call.
  const places = new Map();
  const SCROLLED = ["timeline", "middle", "rows", "tools-found", "state"];
  document.addEventListener("htmx:before:swap", () => {
    for (const id of SCROLLED) places.set(id, document.getElementById(id)?.scrollTop ?? 0);
  });
  let announced = document.getElementById("result")?.dataset.said;
  document.addEventListener("htmx:after:swap", ({ detail }) => {
    for (const [id, top] of places) if (top && document.getElementById(id)) document.getElementById(id).scrollTop = top;
    if ([CALLS, WITHOUT_THE_NEWEST].includes(detail?.ctx?.request?.headers?.["HX-Target"])) return;
    const result = document.getElementById("result");
    if (result && result.dataset.said !== announced) {
      announced = result.dataset.said;
      document.getElementById("said").textContent = announced;
      if (form()) result.scrollIntoView({ block: "nearest" });
    }
    form()?.querySelector(".is-invalid")?.focus();
    reveal();
  });
  reveal();

  // Scroll to the selected call within its list, without moving the page.
  function reveal() {
    const step = document.querySelector("[aria-current=step]")?.getBoundingClientRect();
    for (const box of [document.getElementById("timeline"), document.getElementById("calls")]) {
      if (!step || !box || box.scrollHeight <= box.clientHeight) continue;
      const { top, bottom } = box.getBoundingClientRect();
      if (step.top < top || step.bottom > bottom) box.scrollTop += step.top - top - box.clientHeight / 2;
    }
  }

  // Errors detected without the server. Submitting the same call again sends it unchanged.
  const PROBLEMS = [
    ["required", (field, text) => field.required && !text.trim() && "It is required."],
    ["date", (field) => field.validity?.badInput && "It must be a valid date."],
    ["json", (field, text) => "json" in field.dataset && text.trim() && !isJson(text) && "It is not valid JSON."],
    ["number", (field, text) => text.trim() && wrongNumber(field.dataset, text.trim())],
    ["length", (field, text) => text && wrongLength(field.dataset, text)],
    ["pattern", (field, text) => text && field.dataset.pattern && !matches(field.dataset.pattern, text) && `It must match ${field.dataset.pattern}.`],
  ];

  function isJson(text) {
    try { JSON.parse(text); return true; } catch { return false; }
  }

  function matches(pattern, text) {
    try { return new RegExp(pattern, "u").test(text); } catch { return true; } // the server decides
  }

  function wrongNumber({ number, minimum, maximum }, text) {
    if (!number) return "";
    if (number === "integer" && !/^[+-]?\d+$/.test(text)) return "It must be an integer.";
    if (Number.isNaN(Number(text))) return "It must be a number.";
    if (minimum !== undefined && Number(text) < Number(minimum)) return `It must be at least ${minimum}.`;
    return maximum !== undefined && Number(text) > Number(maximum) ? `It must be at most ${maximum}.` : "";
  }

  function wrongLength({ minlength, maxlength }, text) {
    const length = [...text].length;
    if (minlength !== undefined && length < Number(minlength)) return `It must have at least ${minlength} characters.`;
    return maxlength !== undefined && length > Number(maxlength) ? `It must have at most ${maxlength} characters.` : "";
  }

  function fault(field) {
    const isNull = form().elements[field.name.replace(/^arg-/, "is-")];
    if (isNull?.checked) return "";
    for (const [, problem] of PROBLEMS) { const text = problem(field, field.value); if (text) return text; }
    return "";
  }

  function mark(field, text) {
    const id = `${field.id}-error`;
    document.getElementById(id)?.remove();
    field.classList.toggle("is-invalid", Boolean(text));
    const described = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((each) => each && each !== id);
    if (text) {
      const note = Object.assign(document.createElement("div"), { className: "invalid-feedback d-block", id, textContent: text });
      field.closest(".argument")?.append(note);
      if (!note.isConnected) field.after(note);
      described.push(id);
    }
    if (described.length) field.setAttribute("aria-describedby", described.join(" "));
    else field.removeAttribute("aria-describedby");
  }

  const fields = () => [...form().querySelectorAll("[name^='arg-'], #raw")];
  let looked = "";

  document.addEventListener("submit", (event) => {
    const sent = event.target, button = event.submitter;
    if (sent !== form() || button?.matches("[data-unchecked], [data-anyway], [name=confirmed]")) return;
    const now = JSON.stringify([...new FormData(sent)].filter(([name]) => name !== "csrfmiddlewaretoken"));
    const found = fields().map((field) => [field, fault(field)]).filter(([, text]) => text);
    if (!found.length || looked === now) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    looked = now;
    for (const [field, text] of found) mark(field, text);
    sent.querySelector("[data-faults]").hidden = false;
    found[0][0].focus();
  }, true);

  document.addEventListener("input", ({ target }) => {
    if (target.form === form() && target.classList.contains("is-invalid")) mark(target, "");
  });
  document.addEventListener("change", ({ target }) => {
    if (!form()?.contains(target)) return;
    if (target.matches("[data-given]")) form().requestSubmit(form().querySelector("[data-reshape]"));
    else if (target.matches("[name^='arg-']") && target.value && fault(target)) mark(target, fault(target));
  });

  // Entities: a list below the field, searched on the server, with the name behind each id.
  let open = null, request = null;

  document.addEventListener("focusin", ({ target }) => {
    if (open && open.field !== target && !open.list.contains(target)) close();
    if (!target.matches?.("[data-entity][list]")) return;
    target.removeAttribute("list"); // needed only without this script
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false" })) target.setAttribute(name, value);
  });
  document.addEventListener("input", ({ target }) => { if (target.matches?.("[role=combobox]")) show(target); });
  document.addEventListener("click", ({ target }) => {
    const option = target.closest?.("[data-value]");
    if (open && option && open.list.contains(option)) return choose(option);
    if (target.matches?.("[role=combobox]")) show(target);
    else if (open) close();
  });
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (!field.matches?.("[role=combobox]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (open?.field === field) move(event.key === "ArrowDown" ? 1 : -1);
      else show(field);
    } else if (event.key === "Escape" && open) { event.preventDefault(); close(); }
    else if (event.key === "Enter" && open?.active) { event.preventDefault(); choose(open.active); }
  }, true);

  async function show(field) {
    request?.abort();
    request = new AbortController();
    const query = new URLSearchParams({ type: field.dataset.entity, q: field.value });
    try {
      const answer = await fetch(`${form().dataset.pick}?${query}`, { signal: request.signal });
      if (!answer.ok) return close();
      const options = await answer.text();
      if (document.activeElement !== field) return;
      if (open?.field !== field) unfold(field);
      open.list.innerHTML = options;
      activate(null);
    } catch (error) {
      if (error.name !== "AbortError") close(); // without a list, the user types the id
    }
  }

  function unfold(field) {
    close();
    const list = Object.assign(document.createElement("ul"), { className: "picker", id: "picker" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", field.dataset.entity);
    field.after(list);
    field.setAttribute("aria-controls", "picker");
    field.setAttribute("aria-expanded", "true");
    open = { field, list, active: null };
  }

  function close() {
    if (!open) return;
    open.field.setAttribute("aria-expanded", "false");
    open.field.removeAttribute("aria-controls");
    open.field.removeAttribute("aria-activedescendant");
    open.list.remove();
    open = null;
  }

  function move(by) {
    const options = [...open.list.querySelectorAll("[data-value]")];
    if (!options.length) return;
    const at = options.indexOf(open.active);
    activate(options[(at + by + options.length + (at < 0 && by < 0 ? 1 : 0)) % options.length]);
  }

  function activate(option) {
    open.active?.setAttribute("aria-selected", "false");
    open.active = option;
    if (!option) return open.field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    open.field.setAttribute("aria-activedescendant", option.id);
  }

  function choose(option) {
    const { field } = open;
    field.value = option.dataset.value;
    close();
    field.focus();
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
})();
