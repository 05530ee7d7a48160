// The runs table: selected rows, bulk actions, and the column picker.
(() => {
  const bar = document.getElementById("runs-bar");
  if (!bar) return;
  const found = () => document.getElementById("runs");
  const boxes = () => [...document.querySelectorAll("#runs [data-pick]")];
  const picked = new Set();
  let all = false, last = null;

  const runs = (count) => `${count} run${count === 1 ? "" : "s"}`;

  function show() {
    const total = Number(found().dataset.count), here = boxes();
    for (const box of here) box.checked = all || picked.has(box.value);
    const page = document.querySelector("#runs [data-pick-page]");
    if (page) {
      page.checked = here.length > 0 && here.every((box) => box.checked);
      page.indeterminate = !page.checked && here.some((box) => box.checked);
    }
    bar.hidden = !all && !picked.size;
    bar.querySelector("[data-picked]").textContent = `${runs(all ? total : picked.size)} selected`;
    const more = bar.querySelector("[data-pick-all]");
    more.hidden = all || picked.size >= total || picked.size === 0;
    more.textContent = `Select all ${total}`;
    bar.querySelector("[data-compare-now]").hidden = all || picked.size < 2;
  }

  // Shift selects all rows from the previous one to this one.
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("[data-pick]");
    if (!box) return;
    const here = boxes(), from = event.shiftKey && last ? here.findIndex((one) => one.value === last) : -1, to = here.indexOf(box);
    const among = from < 0 ? [box] : here.slice(Math.min(from, to), Math.max(from, to) + 1);
    if (all) { all = false; for (const one of here) picked.add(one.value); }
    for (const one of among) { if (box.checked) picked.add(one.value); else picked.delete(one.value); }
    last = box.value;
    show();
  });

  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-pick-page]")) return;
    all = false;
    for (const box of boxes()) { if (target.checked) picked.add(box.value); else picked.delete(box.value); }
    show();
  });

  bar.querySelector("[data-pick-all]").addEventListener("click", () => { all = true; show(); });
  bar.querySelector("[data-pick-none]").addEventListener("click", () => { all = false; picked.clear(); show(); });
  bar.querySelector("[data-compare-now]").addEventListener("click", () => {
    location.assign(`${bar.dataset.compare}?${new URLSearchParams([...picked].map((run) => ["run", run]))}`);
  });

  // Send with an action the selected runs, and the table's address to return to.
  bar.addEventListener("submit", ({ target }) => {
    for (const old of target.querySelectorAll("[data-sent]")) old.remove();
    const add = (name, value) => {
      const input = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      input.dataset.sent = "";
      target.append(input);
    };
    for (const [name, value] of new URLSearchParams(found().dataset.address)) add(name, value);
    if (all) add("all", "1"); else add("runs", [...picked].join(","));
  });

  document.addEventListener("htmx:after:settle", show);
  document.addEventListener("htmx:after:swap", show);
  window.addEventListener("pageshow", show);

  // The picker
  const dialog = document.getElementById("columns");
  document.addEventListener("click", async (event) => {
    const opener = event.target.closest?.("[data-columns]");
    if (!opener || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const answer = await fetch(opener.href).catch(() => null);
    if (!answer?.ok || answer.redirected) return location.assign(opener.href);
    dialog.innerHTML = await answer.text();
    dialog.showModal();
    picker(dialog.querySelector("form"));
  });

  function picker(form) {
    const list = form.querySelector("[data-chosen]"), tools = form.querySelector("#column-tools");
    const forms = JSON.parse(form.querySelector("#column-forms").textContent);
    const search = form.querySelector("#columns-search");
    const keys = () => [...list.children].map((item) => item.dataset.key);

    function dress(item) {
      const title = Object.assign(document.createElement("span"), { className: "title", textContent: item.dataset.called ?? item.dataset.title });
      item.replaceChildren(title);
      if (item.dataset.forms) {
        const select = Object.assign(document.createElement("select"), { className: "form-select form-select-sm" });
        select.setAttribute("aria-label", `Statistic of ${title.textContent}`);
        for (const form of item.dataset.forms.trim().split(" ")) select.add(new Option(forms[form], form, false, form === item.dataset.form));
        select.addEventListener("change", () => { item.dataset.form = select.value; item.dataset.key = `${item.dataset.name}-${select.value}`; changed(); });
        item.append(select);
      }
      item.append(tools.content.cloneNode(true));
      for (const button of item.querySelectorAll("button")) button.setAttribute("aria-label", `${button.getAttribute("aria-label")}: ${title.textContent}`);
    }

    function changed() {
      form.elements.columns.value = keys().join(",");
      for (const option of form.querySelectorAll(".runs-picker-add")) option.disabled = !option.dataset.forms && keys().includes(option.dataset.key);
    }

    list.addEventListener("click", (event) => {
      const button = event.target.closest("button"), item = event.target.closest("li");
      if (!button) return;
      if ("remove" in button.dataset) item.remove();
      else if ("up" in button.dataset) item.previousElementSibling?.before(item);
      else item.nextElementSibling?.after(item);
      if (item.isConnected) button.focus();
      changed();
    });

    form.addEventListener("click", (event) => {
      const option = event.target.closest(".runs-picker-add");
      if (event.target.closest("[data-close]")) return dialog.close();
      if (!option) return;
      const item = document.createElement("li");
      Object.assign(item.dataset, option.dataset);
      const taken = keys();
      if (item.dataset.forms && taken.includes(item.dataset.key)) { // add the metric's next unused form
        const free = item.dataset.forms.trim().split(" ").find((one) => !taken.includes(`${item.dataset.name}-${one}`) && one !== "now");
        if (!free) return;
        item.dataset.form = free;
        item.dataset.key = `${item.dataset.name}-${free}`;
      }
      dress(item);
      list.append(item);
      item.scrollIntoView({ block: "nearest" });
      changed();
    });

    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let any = false;
      for (const group of form.querySelectorAll("[data-group]")) {
        for (const option of group.querySelectorAll(".runs-picker-add")) {
          const said = `${option.dataset.title} ${option.dataset.key} ${group.firstElementChild.textContent}`.toLowerCase();
          option.hidden = !words.every((word) => said.includes(word));
        }
        group.hidden = !group.querySelector(".runs-picker-add:not([hidden])");
        any ||= !group.hidden;
      }
      form.querySelector("[data-nothing]").hidden = any;
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      form.querySelector("[data-group]:not([hidden]) .runs-picker-add:not([hidden]):not(:disabled)")?.click();
    });

    for (const item of list.children) dress(item);
    changed();
    search.focus();
  }
})();
