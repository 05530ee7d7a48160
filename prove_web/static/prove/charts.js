// prove.chart(element, {title, unit, series: [{name, points: [[step, y]...]}], smooth, help, axis, zoomed}) -> {add, truncate, along}.
// `help` is a text or several; `axis` is {name, place(step)}: where a step lies; `zoomed(first, last)` is told the steps in view.
// A series may have a `colour`, its number among lines that many charts share, and a `band`: [[step, [low, high]]...].
// An axis that is `own` has places where others have steps, so that the same step of two lines may lie in two places.
// Okabe-Ito colours plus dashes; smoothing keeps the raw line behind; all charts of a page share one cursor.
window.prove ??= {};
prove.chart = (() => {
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07000", "#555555"];
  const DARK = ["#56B4E9", "#E69F00", "#33C39A", "#F0E442", "#CC79A7", "#BBBBBB"];
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4]];
  const INCREMENTS = [...Array(13).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const REDRAW = 125, WEIGHT = 0.8, ENOUGH = 20, TALL = 220;
  const cursor = uPlot.sync("prove");

  const dark = () => document.documentElement.getAttribute("data-bs-theme") === "dark";
  const colour = (index) => (dark() ? DARK : LIGHT)[index % LIGHT.length];
  const dashes = (index) => DASHES[(index + Math.floor(index / LIGHT.length)) % DASHES.length]; // no two of 36 lines are alike
  const STEPS = { name: "step", place: (step) => step };
  const written = (value) => value == null ? "–" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value && Math.abs(value) < 1e-3 ? (+value.toPrecision(3)).toExponential() : String(+value.toPrecision(3));

  // A line that is level lies in the middle, whatever its height; at 0 it lies on the axis.
  function room(plot, low, high) {
    if (low !== high) return uPlot.rangeNum(low, high, 0.1, true);
    return high ? [low - Math.abs(low) / 10, high + Math.abs(high) / 10] : [0, 0.1];
  }

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // The exponential moving average of what is there, corrected for its start.
  function smoothed(values) {
    let sum = 0, weight = 0;
    return values.map((value) => {
      if (value == null) return null;
      sum = WEIGHT * sum + (1 - WEIGHT) * value;
      weight = WEIGHT * weight + (1 - WEIGHT);
      return sum / weight;
    });
  }

  class Chart {
    constructor(element, { title, unit = "", series, smooth = true, help = "", axis = STEPS, zoomed = () => {} }) {
      Object.assign(this, { title, unit, smooth: Boolean(smooth), offered: smooth !== false, axis, closer: zoomed, zoomed: false });
      this.series = series.map(({ name, points = [], colour = null, band = null }, index) => ({ name, points: new Map(points), shown: true, colour: colour ?? index, band: band && new Map(band) }));
      this.build(element, help);
      this.start();
      new ResizeObserver(() => this.resize()).observe(this.canvas);
      document.addEventListener("prove:theme", () => { this.legend(); this.plot.redraw(false, true); });
      this.legend();
    }

    start() {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(), this.data(), this.canvas);
      this.draw();
      this.canvas.querySelector(".u-over")?.setAttribute("aria-hidden", "true");
    }

    build(element, help) {
      element.classList.add("chart-box");
      this.keys = make("div", { class: "chart-keys", role: "group", "aria-label": `Lines of ${this.title}` });
      this.canvas = make("div", { class: "chart-canvas" });
      this.table = make("table", { class: "table table-sm table-vcenter" });
      this.details = make("details", { class: "chart-table" }, make("summary", {}, "Data table"),
        make("div", { class: "table-responsive", tabindex: "0", role: "region", "aria-label": `Data of ${this.title}` }, this.table));
      this.details.addEventListener("toggle", () => this.fill());
      this.reset = this.button("Reset zoom", () => this.unzoom());
      this.reset.hidden = true;
      this.toggle = this.button("Smooth", () => this.switch());
      this.toggle.hidden = !this.offered;
      this.toggle.setAttribute("aria-pressed", this.smooth);
      const heading = make("h3", { class: "card-title" }, this.title);
      if (this.unit) heading.append(" ", make("span", { class: "text-secondary fw-normal" }, this.unit));
      const tools = make("div", { class: "chart-tools" }, this.reset, this.toggle);
      const head = make("div", { class: "chart-head" }, heading, tools);
      const note = make("div", { class: "chart-help text-secondary small" }, ...[help].flat().map((text) => make("p", {}, text)));
      note.hidden = true;
      if (help.length) tools.append(this.button("About", (event) => {
        note.hidden = !note.hidden;
        event.currentTarget.setAttribute("aria-expanded", String(!note.hidden));
      }, { "aria-expanded": "false" }));
      element.replaceChildren(head, note, this.keys, this.canvas, this.details);
    }

    button(text, act, attributes = {}) {
      const button = make("button", { type: "button", class: "btn btn-sm btn-ghost-secondary", "aria-label": `${text}: ${this.title}`, ...attributes }, text);
      button.addEventListener("click", act);
      return button;
    }

    options() {
      const ink = (name) => () => getComputedStyle(this.canvas)[name]; // read when drawn, so that it follows the theme
      const axis = { stroke: ink("color"), grid: { stroke: ink("borderTopColor"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
      const lonely = { show: (plot, at) => plot.data[at].filter((value) => value != null).length < 2 };
      const line = (index, faint) => ({ label: this.series[index].name, stroke: () => colour(this.series[index].colour) + (faint() ? "55" : ""), spanGaps: true, points: lonely });
      const all = this.series.map((_, index) => index);
      return {
        width: this.canvas.clientWidth || 300, height: TALL,
        scales: { x: { time: false, range: (plot, low, high) => low === high ? [low - 1, high + 1] : [low, high] }, y: { range: (plot, low, high) => room(plot, ...this.reach(plot, low, high)) } },
        axes: [{ ...axis, size: 30, values: (plot, ticks) => ticks.map((tick) => this.axis.written ? this.axis.written(tick) : written(tick)), incrs: INCREMENTS }, { ...axis, size: 52, values: (plot, ticks) => ticks.map(written) }],
        series: [{}, ...all.map((index) => line(index, () => this.smooths(index))), ...all.map((index) => line(index, () => false))],
        legend: { show: false },
        cursor: { sync: { key: cursor.key }, drag: { x: true, y: false, setScale: true }, points: { size: 6 } },
        hooks: { drawAxes: [(plot) => this.shade(plot)], setCursor: [() => this.readings()], setSelect: [() => this.zoom()] },
      };
    }

    // The bands that are seen, as [x, low, high] each.
    bands() {
      return this.series.filter(({ shown, band }) => shown && band).map((each) => [each, [...each.band].map(([step, [low, high]]) => [this.axis.place(step), low, high]).filter(([x]) => x != null)]);
    }

    // The lowest and the highest value in view, bands included.
    reach(plot, low, high) {
      const { min, max } = plot.scales.x;
      const seen = this.bands().flatMap(([, edge]) => edge.filter(([x]) => x >= min && x <= max).flatMap(([, ...ends]) => ends));
      return [seen.reduce((a, b) => Math.min(a, b), low), seen.reduce((a, b) => Math.max(a, b), high)];
    }

    // Bands lie behind all lines.
    shade(plot) {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const [each, edge] of this.bands()) {
        const at = (x, y) => [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
        ctx.beginPath();
        for (const [x, low] of edge) ctx.lineTo(...at(x, low));
        for (const [x, , high] of edge.toReversed()) ctx.lineTo(...at(x, high));
        ctx.fillStyle = `${colour(each.colour)}33`;
        ctx.fill();
      }
      ctx.restore();
    }

    // A curve of a few points is shown as it is.
    smooths(index) {
      return this.smooth && this.series[index].points.size >= ENOUGH;
    }

    style() {
      this.series.forEach(({ shown }, index) => {
        const [raw, smooth] = [this.plot.series[1 + index], this.plot.series[1 + this.series.length + index]];
        const dash = dashes(this.series[index].colour), smooths = this.smooths(index);
        Object.assign(raw, { show: shown, width: smooths ? 1 : 2, dash: smooths ? [] : dash });
        Object.assign(smooth, { show: shown && smooths, width: 2, dash });
      });
    }

    data() {
      const told = [...new Set(this.series.flatMap((each) => [...each.points.keys()]))].sort((a, b) => a - b);
      this.steps = told.filter((step) => this.axis.place(step) != null);
      this.xs = this.steps.map(this.axis.place);
      const raw = this.series.map((each) => this.steps.map((step) => each.points.get(step) ?? null));
      return [this.xs, ...raw, ...raw.map(smoothed)];
    }

    add(name, step, y) {
      (this.series.find((each) => each.name === name) ?? this.extend(name)).points.set(step, y);
      this.later();
    }

    // A line that has its first point only now.
    extend(name) {
      this.series.push({ name, points: new Map(), shown: true, colour: this.series.length, band: null });
      this.start();
      this.legend();
      return this.series.at(-1);
    }

    // Take away what lies after a step: a resumed run does those anew.
    truncate(step) {
      for (const { points } of this.series) for (const at of [...points.keys()]) if (at > step) points.delete(at);
      this.later();
    }

    later() {
      this.pending ??= setTimeout(() => { this.pending = null; this.draw(); }, REDRAW);
    }

    draw() {
      const { min, max } = this.plot.scales.x;
      this.style();
      this.plot.setData(this.data(), !this.zoomed);
      if (this.zoomed) this.plot.setScale("x", { min, max });
      this.readings();
      if (this.details.open) this.fill();
    }

    // Lay the same points along another axis.
    along(axis) {
      this.axis = axis;
      this.style();
      this.unzoom();
      if (this.details.open) this.fill();
    }

    zoom() {
      const { left, width } = this.plot.select;
      if (!width) return;
      this.zoomed = true;
      this.reset.hidden = false;
      const [low, high] = [left, left + width].map((at) => this.plot.posToVal(at, "x"));
      const inside = this.steps.filter((step, index) => this.xs[index] >= low && this.xs[index] <= high);
      if (inside.length) this.closer(inside[0], inside.at(-1));
    }

    switch() {
      this.smooth = !this.smooth;
      this.toggle.setAttribute("aria-pressed", this.smooth);
      this.draw();
    }

    unzoom() {
      this.zoomed = false;
      this.reset.hidden = true;
      this.plot.setData(this.data(), true);
    }

    resize() {
      const width = this.canvas.clientWidth;
      if (width && width !== this.plot.width) this.plot.setSize({ width, height: TALL });
    }

    legend() {
      this.keys.replaceChildren(...this.series.map((each, index) => {
        const dash = dashes(each.colour).join(" ");
        const key = make("button", { type: "button", class: "chart-key", "aria-pressed": each.shown });
        key.innerHTML = `<svg width="22" height="8" aria-hidden="true"><path d="M0 4h22" fill="none" stroke="${colour(each.colour)}" stroke-width="2.5" stroke-dasharray="${dash}"/></svg>`;
        key.append(each.name, " ", each.reading = make("strong"));
        key.addEventListener("click", () => this.hide(index, key));
        return key;
      }));
      this.readings();
    }

    hide(index, key) {
      const each = this.series[index];
      each.shown = !each.shown;
      key.setAttribute("aria-pressed", each.shown);
      this.draw();
    }

    // The values under the cursor, else the newest ones.
    readings() {
      const at = this.plot?.cursor.idx;
      this.series.forEach((each) => {
        if (!each.reading) return;
        const place = at ?? this.steps.findLastIndex((step) => each.points.get(step) != null);
        each.reading.textContent = written(each.points.get(this.steps[place]));
      });
    }

    written(step) {
      const x = this.axis.place(step);
      return this.axis.written ? this.axis.written(x) : written(x);
    }

    fill() {
      if (!this.details.open) return;
      const cells = (tag, values, attributes) => make("tr", {}, ...values.map((value) => make(tag, attributes, value)));
      const along = this.axis === STEPS ? [] : [this.axis.name];
      const step = this.axis.own ? [] : ["step"];
      const told = (each, at) => written(each.points.get(at)) + (each.band?.has(at) ? ` (${each.band.get(at).map(written).join(" to ")})` : "");
      const head = cells("th", [...step, ...along, ...this.series.map((each) => each.name)], { scope: "col" });
      const rows = this.steps.map((at) => cells("td", [...step.map(() => String(at)), ...along.map(() => this.written(at)), ...this.series.map((each) => told(each, at))], {}));
      this.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    }
  }

  return Object.assign((element, options) => new Chart(element, options), { STEPS });
})();

// <div data-chart="id"> beside {{ chart|json_script:"id" }}: a chart without code. With `job` (and `after`, its cursor) it
// follows that job: each of its series takes `metric` of the events of kind `event`.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll("[data-chart]")) {
    const spec = JSON.parse(document.getElementById(element.dataset.chart).textContent);
    const chart = prove.chart(element, spec);
    if (!spec.job) continue;
    prove.live.subscribe({ job: spec.job, after: spec.after }, ({ events = [] }) => {
      for (const { kind, data } of events) {
        if (kind === "rewound") chart.truncate(data.step);
        for (const { name, event, metric } of spec.series) if (event === kind && data[metric] != null) chart.add(name, data.step, data[metric]);
      }
    });
  }
});
