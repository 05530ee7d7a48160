// The graph picture, drawn by Cytoscape with the server's layout. It receives data and reports clicks and focus.
window.prove ??= {};

// Convert any CSS colour of the page to a form that Cytoscape reads.
function painted(colour) {
  const brush = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  brush.fillStyle = colour;
  brush.fillRect(0, 0, 1, 1);
  return `rgb(${[...brush.getImageData(0, 0, 1, 1).data].slice(0, 3)})`;
}

prove.Picture = class {
  static SHAPES = { circle: "ellipse", square: "round-rectangle", diamond: "diamond", up: "triangle", down: "vee" };

  constructor(element, tell) {
    this.element = element;
    this.tell = tell;
    this.hash = "";
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.cy = cytoscape({
      container: element, layout: { name: "preset" }, minZoom: 0.05, maxZoom: 4, boxSelectionEnabled: false,
      autoungrabify: true, autounselectify: true, pixelRatio: Math.min(2, window.devicePixelRatio || 1),
    });
    this.listen();
    document.addEventListener("prove:theme", () => this.dress());
  }

  listen() {
    const names = { tool: "name", bundle: "pair", edge: "pair" };
    this.cy.on("tap", (event) => {
      if (event.target === this.cy) return this.within(event.position);
      const kind = event.target.data("is");
      this.tell(kind, event.target.data(names[kind]));
    });
    this.cy.on("mouseover", "node[is = 'tool']", ({ target }) => this.cy.batch(() => { target.addClass("named"); target.connectedEdges().addClass("near"); }));
    this.cy.on("mouseout", "node[is = 'tool']", ({ target }) => this.cy.batch(() => { target.removeClass("named"); target.connectedEdges().removeClass("near"); }));
    this.cy.on("mouseover mouseout", "node, edge", ({ type }) => { this.element.style.cursor = type === "mouseover" ? "pointer" : ""; });
    let waiting;
    this.cy.on("viewport", () => { clearTimeout(waiting); waiting = setTimeout(() => this.tell("looks", this.looksAt()), 200); });
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] }[event.key];
      if (step) this.cy.panBy({ x: step[0], y: step[1] });
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }

  // Server discs ignore clicks, because Cytoscape prefers any node to the edges above it.
  within({ x, y }) {
    const inside = this.cy.nodes("[is = 'server']").filter((node) => Math.hypot(node.position("x") - x, node.position("y") - y) < node.data("d") / 2);
    if (inside.empty()) this.tell("nothing");
    else this.tell("server", inside[0].data("name"));
  }

  // Draw the server's data. Nodes keep their positions while the graph is the same; edges are added and removed.
  show(data) {
    this.data = data;
    this.cy.batch(() => {
      if (data.hash !== this.hash) this.place(data);
      this.paint(data);
      this.join(data);
      this.mark(data);
    });
    if (JSON.stringify(data.looks) !== this.dressed) this.dress();
  }

  place({ hash, servers, tools }) {
    this.cy.elements().remove();
    this.hash = hash;
    this.cy.add(servers.map(([name, x, y, r]) => ({ group: "nodes", data: { id: `s:${name}`, is: "server", name, d: 2 * r }, position: { x, y } })));
    this.cy.add(tools.map(([name, server, x, y]) => ({ group: "nodes", data: { id: `t:${name}`, is: "tool", name, server: servers[server][0], look: 0 }, position: { x, y } })));
  }

  paint({ tools }) {
    for (const [name, , , , look, detail] of tools) this.cy.getElementById(`t:${name}`).data({ look, label: detail ? `${name}\n${detail}` : name });
  }

  join({ servers, tools, edges, bundles }) {
    const wanted = new Map();
    for (const [a, b, look] of edges) {
      const pair = `${tools[a][0]}~${tools[b][0]}`;
      wanted.set(`e:${pair}`, { id: `e:${pair}`, is: "edge", pair, look, source: `t:${tools[a][0]}`, target: `t:${tools[b][0]}` });
    }
    const within = new Map(bundles.filter(([a, b]) => a === b).map(([a, , count]) => [servers[a][0], count]));
    for (const node of this.cy.nodes("[is = 'server']")) {
      const count = within.get(node.data("name"));
      node.data("label", node.data("name") + (count ? `\n${count} internal edges` : "")); // clearer than an edge from a node to itself
    }
    for (const [a, b, count] of bundles) {
      if (a === b) continue;
      const pair = `${servers[a][0]}~${servers[b][0]}`;
      wanted.set(`b:${pair}`, { id: `b:${pair}`, is: "bundle", pair, count, width: 1 + 1.6 * Math.log2(1 + count), source: `s:${servers[a][0]}`, target: `s:${servers[b][0]}` });
    }
    for (const data of wanted.values()) if (data.is === "edge") data.both = wanted.has(`e:${data.pair.split("~").reverse().join("~")}`) ? 1 : 0;
    this.cy.edges().filter((edge) => !wanted.has(edge.id())).remove();
    const fresh = [];
    for (const [id, data] of wanted) {
      const known = this.cy.getElementById(id);
      if (known.empty()) fresh.push({ group: "edges", data });
      else known.data({ look: data.look, both: data.both, count: data.count, width: data.width });
    }
    this.cy.add(fresh);
  }

  // Elements excluded by a filter are faint; a selected chain is emphasised.
  mark({ found, total, chain }) {
    this.cy.elements().removeClass("faint chain");
    if (found < total) {
      const joined = this.cy.edges().connectedNodes();
      const inside = joined.filter("[is = 'server']").map((node) => node.data("name"));
      this.cy.nodes("[is = 'tool']").filter((node) => !joined.has(node) && !inside.includes(node.data("server"))).addClass("faint");
    }
    for (const name of chain) this.cy.getElementById(`t:${name}`).addClass("chain").removeClass("faint");
    chain.slice(1).forEach((name, at) => this.cy.getElementById(`e:${chain[at]}~${name}`).addClass("chain"));
    if (chain.length) this.cy.edges().not(".chain").addClass("faint");
  }

  // The selection: a tool, or an edge by its two names.
  choose(tool, edge) {
    this.cy.batch(() => {
      this.cy.elements().removeClass("chosen");
      if (tool) this.cy.getElementById(`t:${tool}`).addClass("chosen").removeClass("faint");
      if (!edge) return;
      const line = this.cy.getElementById(`e:${edge}`).addClass("chosen").removeClass("faint");
      line.connectedNodes().addClass("chosen").removeClass("faint");
    });
  }

  // Highlight a list entry's element with a ring, and scroll it into view if needed.
  point(id) {
    this.cy.batch(() => { this.cy.elements(".pointed").removeClass("pointed"); });
    const element = id ? this.cy.getElementById(id) : this.cy.collection();
    if (element.empty()) return;
    const nodes = element.isEdge() ? element.union(element.connectedNodes()) : element;
    nodes.addClass("pointed");
    const box = nodes.renderedBoundingBox({ includeLabels: false });
    if (box.x1 < 0 || box.y1 < 0 || box.x2 > this.cy.width() || box.y2 > this.cy.height()) this.move({ center: { eles: nodes } });
  }

  zoom(factor) {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  // Zoom to the chain, the edge, the tool with its neighbours, or the servers; else to everything.
  fit({ edge, tool, servers = [] } = {}) {
    const { chain = [] } = this.data ?? {};
    let seen = this.cy.collection();
    if (chain.length) seen = this.cy.nodes(".chain");
    else if (edge) seen = this.cy.getElementById(`e:${edge}`).connectedNodes();
    else if (tool) seen = this.cy.edges("[is = 'edge']").connectedNodes().union(this.cy.getElementById(`t:${tool}`));
    else for (const name of servers) seen = seen.union(this.cy.getElementById(`s:${name}`));
    this.move({ fit: { eles: seen.empty() ? this.cy.elements() : seen, padding: seen.empty() ? 24 : 60 } });
  }

  move(where) {
    this.cy.stop();
    if (this.calm.matches) { if (where.fit) this.cy.fit(where.fit.eles, where.fit.padding); else this.cy.center(where.center.eles); this.bounded(); }
    else this.cy.animate(where, { duration: 250, complete: () => this.bounded() });
  }

  // Limits the zoom, because two neighbours would fill the picture.
  bounded() {
    if (this.cy.zoom() > 2) this.zoom(2 / this.cy.zoom());
  }

  // The server that fills the picture, or none.
  looksAt() {
    const { x1, y1, x2, y2, w, h } = this.cy.extent();
    const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
    const near = this.cy.nodes("[is = 'server']").filter((node) => Math.hypot(node.position("x") - x, node.position("y") - y) < node.data("d") * 0.6 && node.data("d") > 0.5 * Math.min(w, h));
    return near.empty() ? "" : near[0].data("name");
  }

  dress() {
    if (!this.data) return;
    const { tools, edges } = this.data.looks;
    this.dressed = JSON.stringify(this.data.looks);
    const own = getComputedStyle(this.element), accent = "#d55e00";
    const [ink, back, line] = [own.color, own.backgroundColor, own.borderTopColor].map(painted);
    const text = { color: ink, "font-family": "Inter, system-ui, sans-serif", "text-outline-color": back, "text-outline-width": 2, "text-wrap": "wrap" };
    this.cy.style([
      { selector: "node[is = 'server']", style: { ...text, width: "data(d)", height: "data(d)", "background-color": ink, "background-opacity": 0.04, "border-width": 1.5, "border-color": line, label: "data(label)", "font-size": 34, "min-zoomed-font-size": 6, "text-valign": "top", "text-margin-y": -4, "z-index": 0, events: "no" } },
      { selector: "node[is = 'tool']", style: { ...text, label: "data(name)", "font-size": 9, "min-zoomed-font-size": 8, "text-valign": "bottom", "text-margin-y": 3, "z-index": 10, "border-width": 1, "border-color": ink, "border-opacity": 0.7 } },
      ...tools.map((look, at) => ({ selector: `node[is = 'tool'][look = ${at}]`, style: { shape: prove.Picture.SHAPES[look.shape], width: look.size, height: look.size, "background-color": look.hollow ? back : look.colour, ...(look.hollow ? { "border-color": look.colour, "border-width": 2 } : {}) } })),
      { selector: "edge[is = 'edge']", style: { "curve-style": "straight", opacity: 0.6, "target-arrow-shape": "triangle", "arrow-scale": 0.7, "z-index": 5 } },
      { selector: "edge[both = 1]", style: { "curve-style": "bezier", "control-point-step-size": 14 } }, // otherwise one edge would hide the other
      ...edges.map((look, at) => ({ selector: `edge[is = 'edge'][look = ${at}]`, style: { width: look.width, "line-color": look.colour, "target-arrow-color": look.colour, "line-style": look.line } })),
      { selector: "edge[is = 'bundle']", style: { ...text, "curve-style": "bezier", width: "data(width)", "line-color": "#868e96", "target-arrow-color": "#868e96", "target-arrow-shape": "triangle", opacity: 0.35, label: "data(count)", "font-size": 22, "min-zoomed-font-size": 9, "z-index": 1 } },
      { selector: ".faint", style: { opacity: 0.12, "text-opacity": 0 } },
      { selector: "edge.near", style: { opacity: 1, width: 2.5, "z-index": 20 } },
      { selector: "node.named, node.chosen, node.pointed, node.chain", style: { "min-zoomed-font-size": 0, "text-opacity": 1, "z-index": 30 } },
      { selector: "node.named, node.pointed", style: { "font-size": () => Math.max(9, 13 / this.cy.zoom()) } }, // readable at a low zoom
      { selector: "node.named[label], node.chosen[label], node.pointed[label]", style: { label: "data(label)" } },
      { selector: "node.pointed", style: { "underlay-color": "#56b4e9", "underlay-opacity": 0.6, "underlay-padding": 8, "underlay-shape": "ellipse", opacity: 1 } },
      { selector: "node.chosen", style: { "underlay-color": accent, "underlay-opacity": 0.45, "underlay-padding": 8, "underlay-shape": "ellipse" } },
      { selector: "edge.pointed", style: { opacity: 1, width: 4, "z-index": 30 } },
      { selector: "edge.chosen, edge.chain", style: { opacity: 1, width: 5, "line-color": accent, "target-arrow-color": accent, "arrow-scale": 1.2, "z-index": 25 } },
      { selector: "node.chain", style: { "border-width": 4, "border-color": accent, "border-opacity": 1 } },
    ]);
  }
};
