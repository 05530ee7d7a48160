// The library's search box: completion at the cursor, and marking of invalid queries.
(() => {
  const WAIT = 120;

  function box(input) {
    const list = document.getElementById(input.getAttribute("aria-controls"));
    const said = document.getElementById("q-said");
    let offered = null, active = -1, wait = null, request = null;

    function close() {
      clearTimeout(wait);
      request?.abort();
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }

    function choose(at) {
      const rows = [...list.children];
      rows[active]?.setAttribute("aria-selected", "false");
      active = at;
      const row = rows[at];
      if (!row) return input.removeAttribute("aria-activedescendant");
      row.setAttribute("aria-selected", "true");
      row.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", row.id);
    }

    function show(found) {
      offered = found;
      list.replaceChildren(...found.options.map(({ text, note }, at) => {
        const row = Object.assign(document.createElement("li"), { id: `q-option-${at}` });
        row.setAttribute("role", "option");
        row.setAttribute("aria-selected", "false");
        row.append(Object.assign(document.createElement("span"), { textContent: text }));
        if (note) row.append(Object.assign(document.createElement("span"), { className: "query-note", textContent: note }));
        row.addEventListener("pointerdown", (event) => { event.preventDefault(); take(at); });
        return row;
      }));
      active = -1;
      list.hidden = !found.options.length;
      list.scrollTop = 0;
      input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-expanded", String(!list.hidden));
      if (said) said.textContent = list.hidden ? "" : `${found.options.length} suggestions`;
    }

    async function ask() {
      request?.abort();
      request = new AbortController();
      const query = new URLSearchParams({ q: input.value, at: input.selectionStart });
      try {
        const answer = await fetch(`${input.dataset.complete}?${query}`, { signal: request.signal });
        if (answer.ok && !answer.redirected && document.activeElement === input) show(await answer.json());
      } catch (error) {
        if (error.name !== "AbortError") close(); // no completion without a connection
      }
    }

    function take(at) {
      const { start, end, options } = offered, { text } = options[at];
      const open = /[:<>=]$/.test(text), rest = input.value.slice(end);
      const put = open || rest.startsWith(" ") ? text : `${text} `;
      input.value = input.value.slice(0, start) + put + rest;
      input.setSelectionRange(start + put.length, start + put.length);
      close();
      if (open) ask();
      else input.dispatchEvent(new CustomEvent("searched", { bubbles: true }));
    }

    input.addEventListener("input", () => {
      clearTimeout(wait);
      if (input.value.trim()) wait = setTimeout(ask, WAIT); else close();
    });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      const count = list.hidden ? 0 : list.children.length, by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by && count) { event.preventDefault(); choose((active + by + count + (active < 0 && by < 0 ? 1 : 0)) % count); }
      else if (event.key === "ArrowDown" || (event.key === " " && event.ctrlKey)) { event.preventDefault(); ask(); }
      else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) { event.preventDefault(); take(active); }
      else if (event.key === "Enter") close();
      else if (event.key === "Escape" && count) { event.preventDefault(); event.stopPropagation(); close(); }
    });
  }

  const input = document.querySelector("[data-complete]");
  if (!input) return;
  box(input);
  document.addEventListener("htmx:after:settle", () => {
    if (document.getElementById("q-fault")) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  });
})();
