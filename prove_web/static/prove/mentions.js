// Team mentions after an @: arrows select, Enter or Tab inserts, Escape closes. For every <textarea data-mentions="id
// of a JSON list">.
(() => {
  const MOST = 8, BEFORE = /(?:^|[^\w@./+-])@([\w.@+-]*)$/;
  let box = null, field = null, chosen = 0;

  document.addEventListener("input", ({ target }) => { if (target.matches?.("textarea[data-mentions]")) offer(target); });
  document.addEventListener("focusout", ({ target }) => { if (target === field) close(); });
  document.addEventListener("keydown", (event) => {
    if (!box || event.target !== field) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose((chosen + step + box.children.length) % box.children.length);
    else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") take(box.children[chosen].textContent);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  function typed(area) {
    return area.value.slice(0, area.selectionStart).match(BEFORE)?.[1];
  }

  function offer(area) {
    const begun = typed(area), known = document.getElementById(area.dataset.mentions);
    close();
    if (begun === undefined || !known) return;
    const names = JSON.parse(known.textContent).filter((name) => name.toLowerCase().startsWith(begun.toLowerCase())).slice(0, MOST);
    if (!names.length || (names.length === 1 && names[0] === begun)) return;
    field = area;
    box = document.createElement("ul");
    Object.assign(box, { className: "mention-list", id: "mention-list" });
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", "People");
    names.forEach((name, at) => {
      const row = document.createElement("li");
      Object.assign(row, { id: `mention-${at}`, textContent: name });
      row.setAttribute("role", "option");
      row.addEventListener("mousedown", (event) => { event.preventDefault(); take(name); });
      box.append(row);
    });
    area.after(box);
    area.setAttribute("aria-controls", box.id);
    choose(0);
    box.scrollIntoView({ block: "nearest" });
  }

  function choose(at) {
    chosen = at;
    [...box.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
    field.setAttribute("aria-activedescendant", `mention-${at}`);
  }

  function take(name) {
    const area = field, from = area.selectionStart - typed(area).length;
    area.setRangeText(`${name} `, from, area.selectionStart, "end");
    close();
    area.dispatchEvent(new Event("input", { bubbles: true })); // so that the draft is saved
  }

  function close() {
    box?.remove();
    for (const name of ["aria-controls", "aria-activedescendant"]) field?.removeAttribute(name);
    box = field = null;
  }
})();
