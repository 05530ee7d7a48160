// View settings of a run's charts: axis, smoothing, marks, zoom, collapsed groups, pinned charts, enlarged chart. They
// come from the address, else from this browser's last use, except for zoom and enlarged chart.
// prove.look(section, changed) -> {axis, keep, log, all, marks, pins, pin(), zoom, large}.
window.prove ??= {};
prove.look = (section, changed) => {
  const STORAGE_KEY = "prove.charts", USUAL = { x: "step", smooth: "0.8", marks: "checkpoint,benchmark,resumed", fold: "", y: "linear", far: "out", pins: "" };
  const address = new URL(location).searchParams;
  let left = {};
  try { left = JSON.parse(localStorage.getItem(STORAGE_KEY)) ?? {}; } catch { /* treated as if there were no stored settings */ }
  const now = Object.fromEntries(Object.entries(USUAL).map(([name, usual]) => [name, address.get(name) ?? left[name] ?? usual]));
  const zoom = (address.get("zoom") ?? "").split("~").map(Number);
  const list = (name) => new Set(now[name].split(",").filter(Boolean));

  const look = {
    get axis() { return now.x; },
    get keep() { return Math.min(0.99, Math.max(0, Number(now.smooth) || 0)); },
    get log() { return now.y === "log"; },
    get all() { return now.far === "in"; },
    get marks() { return list("marks"); },
    get pins() { return list("pins"); },
    pin(name, on) { toggled("pins", name, on); },
    large: address.get("chart") ?? "",
    enlarge(name) { look.large = name; said(); },
    zoom: zoom.length === 2 && zoom.every(Number.isFinite) && zoom[0] < zoom[1] ? zoom : null,
    narrow(range) { look.zoom = range; said(); },
  };

  function said() {
    const url = new URL(location);
    for (const [name, value] of Object.entries(now)) {
      if (value === USUAL[name]) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    if (look.zoom) url.searchParams.set("zoom", look.zoom.map((x) => +x.toPrecision(6)).join("~"));
    else url.searchParams.delete("zoom");
    if (look.large) url.searchParams.set("chart", look.large);
    else url.searchParams.delete("chart");
    history.replaceState(history.state, "", url);
  }

  function set(name, value) {
    now[name] = value;
    if (name === "x") look.zoom = null;
    try { localStorage.setItem(STORAGE_KEY, JSON.stringify(now)); } catch { /* then only the address stores it */ }
    said();
    show();
    changed(name);
  }

  function toggled(name, one, on) {
    const those = list(name);
    those[on ? "add" : "delete"](one);
    set(name, [...those].join(","));
  }

  function show() {
    for (const button of section.querySelectorAll("[data-axis]")) button.setAttribute("aria-pressed", String(button.dataset.axis === now.x));
    for (const button of section.querySelectorAll("[data-mark]")) button.setAttribute("aria-pressed", String(list("marks").has(button.dataset.mark)));
    for (const [name, on] of [["y", look.log], ["far", look.all]]) section.querySelector(`[data-scale="${name}"]`).setAttribute("aria-pressed", String(on));
    section.querySelector("[data-smooth]").value = look.keep;
    section.querySelector("[data-smooth-said]").textContent = look.keep ? look.keep.toFixed(2) : "off";
    for (const group of section.querySelectorAll("details.run-group")) group.open = !list("fold").has(group.dataset.group);
  }

  for (const button of section.querySelectorAll("[data-axis]")) button.addEventListener("click", () => set("x", button.dataset.axis));
  for (const button of section.querySelectorAll("[data-mark]")) button.addEventListener("click", () => toggled("marks", button.dataset.mark, button.getAttribute("aria-pressed") !== "true"));
  for (const [name, on] of [["y", "log"], ["far", "in"]]) section.querySelector(`[data-scale="${name}"]`).addEventListener("click", () => set(name, now[name] === on ? USUAL[name] : on));
  section.querySelector("[data-smooth]").addEventListener("input", (event) => set("smooth", event.target.value));
  show();
  for (const group of section.querySelectorAll("details.run-group")) group.addEventListener("toggle", () => { if (group.open === list("fold").has(group.dataset.group)) toggled("fold", group.dataset.group, !group.open); });
  return look;
};
