// Highlights a value's source, and the calls that gained or lost a reward component; copies links to turns and calls.
(() => {
  if (window.prove?.anatomy) return;
  (window.prove ??= {}).anatomy = true;
  document.documentElement.classList.add("scripted");

  // A value that is hovered or focused, and its source.
  const sourceOf = (value) => document.getElementById((value.getAttribute("href") ?? "#").slice(1));
  const light = (value, on) => {
    const source = sourceOf(value);
    value.classList.toggle("lit", on);
    source?.classList.toggle(source.matches(".call, .turn") ? "lit-source" : "lit", on);
  };
  for (const [kind, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(kind, (event) => {
      const value = event.target.closest?.("a.value");
      if (value) light(value, on);
    });
  }

  // A link to a target in a collapsed section opens the section first.
  function unfold(id) {
    const target = document.getElementById(id);
    for (let fold = target?.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
    return target;
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && !link.dataset.component) unfold(link.hash.slice(1));
  });
  addEventListener("hashchange", () => unfold(location.hash.slice(1))?.scrollIntoView({ block: "center" }));
  unfold(location.hash.slice(1));

  // Reward components become buttons that toggle the highlight of calls.
  const buttons = () => document.querySelectorAll("[data-component]");
  function press(button) {
    const on = button.getAttribute("aria-pressed") !== "true", name = button.dataset.component;
    for (const each of buttons()) each.setAttribute("aria-pressed", String(on && each === button));
    const earned = [], lost = [];
    for (const call of document.querySelectorAll(".call[data-number]")) {
      const earns = call.dataset.earns.split(" ").includes(name), loses = call.dataset.loses.split(" ").includes(name);
      call.classList.toggle("lit-earned", on && earns && !loses);
      call.classList.toggle("lit-lost", on && loses);
      call.classList.toggle("lit-none", on && !earns && !loses);
      for (const chip of call.querySelectorAll("[data-points]")) chip.hidden = !(on && chip.dataset.points === name);
      if (earns) earned.push(call.dataset.number);
      if (loses) lost.push(call.dataset.number);
    }
    const title = button.querySelector(".waterfall-title").textContent;
    const said = on ? `${title}: earned by ${listed(earned)}, lost by ${listed(lost)}.` : "";
    button.closest("section, .card-body")?.querySelector("[data-lit-said]")?.replaceChildren(said);
    if (on) document.querySelector(".call.lit-lost, .call.lit-earned")?.scrollIntoView({ block: "nearest" });
  }
  const listed = (calls) => calls.length ? `call${calls.length > 1 ? "s" : ""} ${calls.join(", ")}` : "no call";
  const asButtons = () => {
    for (const each of buttons()) {
      each.setAttribute("role", "button");
      if (!each.hasAttribute("aria-pressed")) each.setAttribute("aria-pressed", "false");
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-component]");
    if (!button || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    press(button);
  });
  document.addEventListener("keydown", (event) => {
    const button = event.key === " " && event.target.closest?.("[data-component]");
    if (!button) return;
    event.preventDefault();
    press(button);
  });
  asButtons();
  document.addEventListener("htmx:finally:swap", asButtons);

  // Copy a link to a turn or call.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy-link]");
    if (!button) return;
    const url = new URL(location.href);
    url.hash = button.dataset.copyLink;
    history.replaceState(null, "", url.hash);
    await navigator.clipboard?.writeText(url.href).catch(() => {});
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 2000);
  });

  // The fix that led here was saved, so its draft is deleted.
  const saved = sessionStorage.getItem("prove-fix-saving");
  if (saved && !document.querySelector("form[data-fix]")) {
    localStorage.removeItem(saved);
    sessionStorage.removeItem("prove-fix-saving");
  }

  // n and p open the next and previous filtered item, except while typing.
  const KEYS = { n: "a[rel=next]", p: "a[rel=prev]" };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    document.querySelector(KEYS[event.key])?.click();
  });
})();
