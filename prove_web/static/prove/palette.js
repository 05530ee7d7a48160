// The command palette: Ctrl or Cmd and K, words, arrows, Enter. The server searches; this browser stores recent pages.
(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const input = document.getElementById("palette-q"), list = document.getElementById("palette-list");
  const said = document.getElementById("palette-said");
  const base = new URL(input.dataset.find, location.href).pathname.replace(/find\/$/, "");
  const KEY = `prove.recent.${dialog.dataset.person}.${dialog.dataset.project}`, MAX_RECENT = 6, WAIT = 80;
  let request = null, wait = null, active = null, displayed = null;

  // Recent pages of this project by section, named by their headings.
  function recent() {
    try { return JSON.parse(localStorage.getItem(KEY)) ?? []; } catch { return []; }
  }

  function remember() {
    const inside = location.pathname.startsWith(base) ? location.pathname.slice(base.length).split("/").filter(Boolean) : [];
    const title = document.querySelector("h1")?.textContent.replace(/\s+/g, " ").trim().slice(0, 120);
    if (inside.length < 2 || inside.includes("new") || !title) return;
    const here = { url: location.pathname, title, note: inside[0] };
    const entries = [here, ...recent().filter((one) => one.url !== here.url)].slice(0, MAX_RECENT + 1);
    try { localStorage.setItem(KEY, JSON.stringify(entries)); } catch { /* storage is not available */ }
  }

  function recentGroup() {
    const found = recent().filter((one) => one.url !== location.pathname && one.url.startsWith(base)).slice(0, MAX_RECENT);
    if (!found.length) return null;
    const section = document.createElement("section"), head = document.createElement("h2");
    section.setAttribute("aria-label", "Recent");
    head.className = "palette-head";
    head.textContent = "Recent";
    section.append(head, ...found.map(({ url, title, note }) => {
      const link = Object.assign(document.createElement("a"), { className: "palette-one", href: url });
      for (const [name, text] of [["palette-title", title], ["palette-note", note]]) link.append(Object.assign(document.createElement("span"), { className: name, textContent: text }));
      return link;
    }));
    return section;
  }

  async function search() {
    const text = input.value.trim();
    request?.abort();
    request = new AbortController();
    try {
      const answer = await fetch(`${input.dataset.find}?${new URLSearchParams({ q: text })}`, { headers: { "HX-Request": "true" }, signal: request.signal });
      if (!answer.ok || answer.redirected) throw new Error("refused");
      list.innerHTML = await answer.text();
      displayed = text;
      lay(text);
    } catch (error) {
      if (error.name !== "AbortError") { list.replaceChildren(); tell("Search is unavailable. Try again."); }
    }
  }

  function lay(text) {
    const none = list.querySelector(".palette-none");
    none?.remove();
    const group = text ? null : recentGroup();
    if (group) list.prepend(group);
    list.querySelectorAll("section").forEach((section) => section.setAttribute("role", "group"));
    list.querySelectorAll("h2").forEach((head) => head.setAttribute("aria-hidden", "true"));
    const found = options();
    found.forEach((option, at) => {
      Object.assign(option, { id: `palette-${at}`, tabIndex: -1 });
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
    });
    active = null;
    choose(found[0]);
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(found.length > 0));
    tell(none ? none.textContent : `${found.length} found`, Boolean(none));
  }

  function tell(text, visible = true) {
    said.textContent = text;
    said.className = visible ? "palette-none" : "visually-hidden";
  }

  const options = () => [...list.querySelectorAll(".palette-one")];

  function choose(option) {
    active?.setAttribute("aria-selected", "false");
    active = option ?? null;
    if (!active) return input.removeAttribute("aria-activedescendant");
    active.setAttribute("aria-selected", "true");
    active.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", active.id);
  }

  function move(by) {
    const found = options();
    if (found.length) choose(found[(found.indexOf(active) + by + found.length) % found.length]);
  }

  async function go() {
    if (displayed !== input.value.trim()) { clearTimeout(wait); await search(); }
    active?.click();
  }

  function open() {
    if (dialog.open) return input.select();
    dialog.showModal();
    input.value = "";
    search();
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    } else if (dialog.open) event.stopPropagation(); // keeps the page's shortcuts from handling these keys
  }, true);
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-palette]") && !event.ctrlKey && !event.metaKey) { event.preventDefault(); open(); }
    else if (event.target === dialog || event.target.closest?.("[data-palette-close]")) dialog.close();
  });
  input.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(search, WAIT); });
  remember();
  document.addEventListener("htmx:after:settle", remember);

  window.addEventListener("keydown", (event) => {
    if (!dialog.open || event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) { event.preventDefault(); move(by); }
    else if (event.key === "Enter" && event.target === input) { event.preventDefault(); go(); }
  }, true);
})();
