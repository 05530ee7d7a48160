// The graph page; its address is its state. Clicks and typing change the address; picture, panel, legend and table are
// then fetched for it, as a page without script would load them.
const FILTERS = ["q", "server", "kind", "between", "tool", "hops", "page"], COLOURS = ["by", "dataset", "run", "against"];
const PLACES = ["server", "between", "tool", "hops", "edge", "chain", "start", "end", "draw"];
const count = new Intl.NumberFormat("en");

class Graph {
  constructor(canvas) {
    this.canvas = canvas;
    this.form = document.getElementById("graph-form");
    this.status = document.getElementById("graph-status");
    this.params = new URLSearchParams(location.search);
    this.opened = "";
    this.turns = {};
    this.picture = new prove.Picture(canvas, (what, name) => this.clicked(what, name));
    this.find = new prove.Find(this.form.elements.tool, document.getElementById("graph-options"), {
      names: () => (this.data?.tools ?? []).map(([name, server]) => [name, this.data.servers[server][0]]),
      point: (name) => this.picture.point(name && `t:${name}`),
      choose: (name) => this.clicked("tool", name),
    });
    this.listen();
    this.draw(true);
  }

  listen() {
    let typing;
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.filter(); });
    this.form.elements.q.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => this.filter(false), 150); });
    document.addEventListener("change", ({ target }) => { if (target.form === this.form && target.tagName === "SELECT") this.filter(); });
    document.addEventListener("submit", (event) => {
      if (event.target.id !== "chain-form") return;
      event.preventDefault();
      const ends = new FormData(event.target);
      this.with({ start: ends.get("start").trim(), end: ends.get("end").trim(), chain: "", draw: "" });
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("#graph-panel a[href^='?'], #found a[href^='?']");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.go(new URLSearchParams(new URL(link.href).search));
    });
    document.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-zoom]");
      if (!button) return;
      if (button.dataset.zoom === "fit") this.picture.fit();
      else this.picture.zoom(button.dataset.zoom === "in" ? 1.4 : 1 / 1.4);
    });
    document.querySelector(".graph-zoom").hidden = false;
    document.addEventListener("keydown", (event) => this.walk(event));
    document.addEventListener("focusin", ({ target }) => this.picture.point(place(target)));
    document.addEventListener("mouseover", ({ target }) => { const link = target.closest?.(".graph-list a"); if (link) this.picture.point(place(link)); });
    window.addEventListener("popstate", () => { const before = this.params; this.params = new URLSearchParams(location.search); this.follow(before); });
    document.addEventListener("htmx:before:history:restore", (event) => event.preventDefault());
  }

  // Arrow keys move through a list next to the picture.
  walk(event) {
    const link = event.target.closest?.(".graph-list a"), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!link || !step) return;
    const links = [...document.querySelectorAll("#graph-panel .graph-list a")];
    links[links.indexOf(link) + step]?.focus();
    event.preventDefault();
  }

  clicked(what, name) {
    if (what === "tool") this.with({ tool: name, edge: "", between: "", page: "" });
    else if (what === "edge") this.with({ edge: name }).then(() => { if (window.innerWidth < 992) document.getElementById("graph-panel").scrollIntoView(); });
    else if (what === "bundle") this.with({ between: name, tool: "", edge: "", page: "" });
    else if (what === "server" && (this.params.has("tool") || this.params.has("edge"))) this.clicked("nothing"); // first leave the neighbourhood view
    else if (what === "server") this.with({ server: name, tool: "", edge: "", between: "", page: "" });
    else if (what === "looks" && name !== this.opened) { this.opened = name; this.draw(false); }
    else if (what === "nothing" && this.params.has("edge")) this.with({ edge: "" });
    else if (what === "nothing" && (this.params.has("tool") || this.params.has("between"))) this.with({ tool: "", hops: "", between: "", page: "" });
  }

  filter(push = true) {
    const { q, server, kind } = this.form.elements, changes = { q: q.value, server: server.value, kind: kind.value, page: "" };
    if (server.value !== (this.params.get("server") ?? "")) Object.assign(changes, { between: "", edge: "" });
    for (const name of COLOURS) changes[name] = this.form.elements[name]?.value ?? this.params.get(name) ?? "";
    if (changes.by === "kind") changes.by = "";
    return this.with(changes, push);
  }

  with(changes, push = true) {
    const params = new URLSearchParams(this.params);
    for (const [name, value] of Object.entries(changes)) params.set(name, value);
    return this.go(params, push);
  }

  go(params, push = true) {
    for (const [name, value] of [...params]) if (!value) params.delete(name);
    const before = this.params, address = `${location.pathname}${params.size ? "?" : ""}${params}`;
    if (String(params) === String(before)) return Promise.resolve();
    this.params = params;
    if (push) history.pushState({ graph: true }, "", address);
    else history.replaceState({ graph: true }, "", address);
    return this.follow(before);
  }

  follow(before) {
    const changed = (names) => names.some((name) => before.get(name) !== this.params.get(name));
    for (const name of ["q", "server", "kind", "tool"]) if (this.form.elements[name] !== document.activeElement || name !== "q") this.form.elements[name].value = this.params.get(name) ?? "";
    const requests = [this.draw(changed(PLACES)), this.part("graph-panel")];
    if (changed(FILTERS)) requests.push(this.part("found"));
    if (changed(COLOURS)) requests.push(this.part("graph-legend"));
    return Promise.all(requests);
  }

  async draw(moves) {
    const query = new URLSearchParams(this.params);
    if (this.opened) query.set("open", this.opened);
    const answer = await this.fetch("picture", `${this.canvas.dataset.url}?${query}`, { Accept: "application/json" });
    if (!answer) return;
    this.data = await answer.json();
    if (!this.data.hash) return;
    if (this.data.hash !== this.picture.hash) document.getElementById("graph-names").replaceChildren(...this.data.tools.map(([name]) => new Option(name, name)));
    this.picture.show(this.data);
    const [tool, edge] = [this.params.get("tool"), this.params.get("edge")];
    this.picture.choose(tool, edge);
    if (moves) this.picture.fit({ tool, edge, servers: (this.params.get("between") ?? this.params.get("server") ?? "").split("~").filter(Boolean) });
    this.say();
  }

  say() {
    const { found, total, drawn } = this.data, edges = `${found === total ? "" : `${count.format(found)} of `}${count.format(total)} edges`;
    this.status.textContent = drawn === found ? `${edges}.` : `${edges} as ${count.format(drawn)} lines; edges between servers are bundled. Zoom in on a server to see single edges.`;
    Object.assign(this.canvas.dataset, { drawn, opened: this.opened, shows: `?${this.params}` });
  }

  async part(id) {
    const answer = await this.fetch(id, location.href, { "HX-Request": "true", "HX-Target": `div#${id}` });
    const fresh = answer && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
    if (!fresh) return;
    const old = document.getElementById(id), focused = old.contains(document.activeElement) && document.activeElement;
    old.replaceWith(fresh);
    htmx.process(fresh);
    if (focused) ((focused.id && document.getElementById(focused.id)) || fresh).focus({ preventScroll: true });
  }

  // Return the response, unless a newer request was made.
  async fetch(what, address, headers) {
    const turn = this.turns[what] = (this.turns[what] ?? 0) + 1;
    const answer = await fetch(address, { headers }).catch(() => null);
    if (turn !== this.turns[what]) return null;
    if (answer?.redirected) location.reload(); // signed out: show the sign-in page, which returns here
    else if (!answer?.ok) this.status.textContent = "The graph could not be loaded. Reload the page to try again.";
    else return answer;
    return null;
  }
}

// The id of the element in the picture that a list link refers to.
function place(link) {
  const { tool, edge, server } = link.dataset ?? {};
  return tool ? `t:${tool}` : edge ? `e:${edge}` : server ? `s:${server}` : "";
}

// A search box with a list of tools; arrow keys move through it and highlight each tool in the picture.
prove.Find = class {
  constructor(input, list, { names, point, choose }) {
    Object.assign(this, { input, list, names, point, choose, at: -1 });
    for (const [name, value] of Object.entries({ role: "combobox", "aria-controls": list.id, "aria-autocomplete": "list", "aria-expanded": "false" })) input.setAttribute(name, value);
    input.addEventListener("input", () => this.open());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    list.addEventListener("mousedown", (event) => { const option = event.target.closest("[role=option]"); if (option) { event.preventDefault(); this.take(option); } });
  }

  get options() { return [...this.list.children]; }

  open() {
    const words = this.input.value.toLowerCase().split(/[\s_]+/).filter(Boolean);
    const fits = this.names().filter(([name, server]) => words.every((word) => `${name} ${server}`.includes(word)));
    fits.sort(([a], [b]) => b.startsWith(words[0] ?? "") - a.startsWith(words[0] ?? ""));
    this.list.replaceChildren(...fits.slice(0, 40).map(([name, server], at) => {
      const option = document.createElement("li"), beside = document.createElement("span");
      Object.assign(option, { id: `graph-option-${at}`, role: "option", textContent: `${name} ` });
      Object.assign(beside, { className: "graph-count", textContent: server });
      option.dataset.tool = name;
      option.setAttribute("aria-selected", "false");
      option.append(beside);
      return option;
    }));
    this.at = -1;
    this.list.hidden = !fits.length;
    this.input.setAttribute("aria-expanded", String(fits.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (this.list.hidden) this.open();
      this.go(Math.max(0, Math.min(this.options.length - 1, this.at + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      const option = this.options[Math.max(0, this.at)];
      if (option && !this.list.hidden) this.take(option);
    } else if (event.key === "Escape") this.close();
  }

  go(at) {
    this.options.forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
    const option = this.options[this.at = at];
    if (!option) return;
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
    this.point(option.dataset.tool);
  }

  take(option) {
    this.input.value = option.dataset.tool;
    this.close();
    this.choose(option.dataset.tool);
  }
};

document.addEventListener("DOMContentLoaded", () => {
  const canvas = document.getElementById("graph-canvas");
  if (canvas) prove.graph = new Graph(canvas);
});
