// prove.chart(element, {title, unit, series: [{name, points: [[step, y]...]}], smooth, help, axis, ...}) -> {add,
// truncate, along, view, ...}.
// `help` is one text or several. `axis` is {name, place(step)}, where `place` maps a step to its position. `beside` is
// another run: {name, place(step), lines: {name: points}}.
// `zoomed(first, last, range)` is called with the visible steps, or without arguments when all are visible; `marks` are
// {step, kind, text}; `open(step)` handles a click; `csv()` returns a URL. `acts` are buttons below the chart: {text,
// pressed, act(chart)}.
// `log` selects a log scale, and `all` includes outliers. A series may have a `colour` (its index among lines shared by
// several charts) and a `band`: [[step, [low, high]]...]. `odd` of a series are [step, word] of NaN and infinite
// values: a cross on the axis, and the word in the data table.
// An axis that is `own` uses positions instead of steps, so that the same step of two lines may have two positions.
// Colours are Okabe-Ito plus dashes; smoothing keeps the raw line in the background; all charts of a page share one
// cursor.
window.prove ??= {};
prove.chart = (() => {
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07000", "#555555"];
  const DARK = ["#56B4E9", "#E69F00", "#33C39A", "#F0E442", "#CC79A7", "#BBBBBB"];
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [14, 4]], THIN = [4, 3];
  const INCREMENTS = [...Array(13).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const REDRAW = 125, WEIGHT = 0.8, ENOUGH = 20, TALL = 220, NEAR = 12, TWICE = 300;
  const { make, written, padRange, smoothed, drawMarks, keys } = prove.parts, { picture, drawing } = prove.files;
  const { fence, inside, span, drawOutside, drawOdd } = prove.range;
  const cursor = uPlot.sync("prove");

  const dark = () => document.documentElement.getAttribute("data-bs-theme") === "dark";
  const dashes = (index) => DASHES[(index + Math.floor(index / LIGHT.length)) % DASHES.length]; // 36 distinct combinations of colour and dash
  const STEPS = { name: "step", place: (step) => step };

  class Chart {
    constructor(element, { title, unit = "", series, smooth = true, help = "", axis = STEPS, zoomed = () => {}, beside = null, marks = [], open = null, csv = null, weight = WEIGHT, acts = [], log = false, all = false }) {
      Object.assign(this, { title, unit, smooth: Boolean(smooth), offered: smooth !== false, axis, closer: zoomed, zoomed: false, beside, marks, open, csv, weight, acts, log, all, range: null, tall: TALL, fences: [], far: [] });
      this.series = series.map(({ name, points = [], odd = [], colour = null, band = null }, index) => ({ name, points: new Map(points), odd: new Map(odd), visible: true, colour: colour ?? index, band: band && new Map(band) }));
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
      this.keys = make("div", { class: "chart-keys", role: "group", "aria-label": `Legend of ${this.title}` });
      this.canvas = make("div", { class: "chart-canvas", tabindex: "0", role: "application", "aria-label": `${this.title}: arrow keys move between points, plus and minus zoom, 0 resets zoom${this.open ? ", Enter opens the step" : ""}` });
      this.canvas.addEventListener("keydown", (event) => keys(this, event));
      this.canvas.addEventListener("pointerdown", ({ clientX }) => { this.pressed = clientX; });
      this.canvas.addEventListener("click", ({ clientX, detail }) => {
        clearTimeout(this.opening); // a double click does not open the step
        if (detail === 1 && Math.abs(clientX - this.pressed) < 3) this.opening = setTimeout(() => this.clicked(), TWICE);
      });
      this.canvas.classList.toggle("chart-opens", Boolean(this.open));
      this.said = make("div", { class: "visually-hidden", role: "status" });
      this.table = make("table", { class: "table table-sm table-vcenter" });
      this.details = make("details", { class: "chart-table" }, make("summary", {}, "Data table"),
        make("div", { class: "table-responsive", tabindex: "0", role: "region", "aria-label": `Data of ${this.title}` }, this.table));
      this.details.addEventListener("toggle", () => this.fill());
      this.reset = this.button("Reset zoom", () => this.unlook());
      this.reset.hidden = true;
      this.toggle = this.button("Smooth", () => this.switch());
      this.toggle.hidden = !this.offered;
      this.toggle.setAttribute("aria-pressed", this.smooth);
      this.outside = this.button("", () => this.scaled(this.log, !this.all), { class: "btn btn-sm btn-ghost-secondary chart-outside" });
      const heading = make("h3", { class: "card-title" }, this.title);
      heading.append(" ", this.units = make("span", { class: "text-secondary fw-normal" }));
      const tools = make("div", { class: "chart-tools" }, this.outside, this.reset, this.toggle);
      const head = make("div", { class: "chart-head" }, heading, tools);
      const note = make("div", { class: "chart-help text-secondary small" }, ...[help].flat().map((text) => make("p", {}, text)));
      note.hidden = true;
      if (help.length) tools.append(this.button("About", (event) => {
        note.hidden = !note.hidden;
        event.currentTarget.setAttribute("aria-expanded", String(!note.hidden));
      }, { "aria-expanded": "false" }));
      const foot = make("div", { class: "chart-foot" }, this.details, this.files());
      element.replaceChildren(head, note, this.keys, this.canvas, this.said, foot);
    }

    // Export of the chart: its image, and its full data from the server.
    files() {
      const acts = this.acts.map(({ text, pressed = null, act }) => this.button(text, ({ currentTarget }) => act(this, currentTarget), pressed == null ? {} : { "aria-pressed": pressed }));
      const link = this.csv && make("a", { class: "btn btn-sm btn-ghost-secondary", href: this.csv(), download: "", "aria-label": `Save ${this.title} as CSV` }, "CSV");
      const drawn = [["SVG", drawing], ["PNG", picture]].map(([text, save]) => this.button(text, () => save(this), { "aria-label": `Save ${this.title} as ${text}` }));
      return make("div", { class: "chart-files" }, ...acts, ...[link].filter(Boolean), ...drawn);
    }

    button(text, act, attributes = {}) {
      const button = make("button", { type: "button", class: "btn btn-sm btn-ghost-secondary", "aria-label": `${text}: ${this.title}`, ...attributes }, text);
      button.addEventListener("click", act);
      return button;
    }

    ink(index) {
      return (dark() ? DARK : LIGHT)[this.series[index].colour % LIGHT.length];
    }

    options() {
      const ink = (name) => () => getComputedStyle(this.canvas)[name]; // read when drawn, so that it follows the theme
      const axis = { stroke: ink("color"), grid: { stroke: ink("borderTopColor"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
      const lonely = { show: (plot, at) => plot.data[at].filter((value) => value != null).length < 2 };
      const line = (index, faint) => ({ label: this.series[index].name, stroke: () => this.ink(index) + faint(), spanGaps: true, points: lonely });
      const all = this.series.map((_, index) => index);
      const theirs = this.beside ? all.map((index) => ({ ...line(index, () => "aa"), width: 1, dash: THIN, points: { show: false } })) : [];
      return {
        width: this.canvas.clientWidth || 300, height: this.tall,
        scales: { x: { time: false, range: (plot, low, high) => low === high ? [low - 1, high + 1] : [low, high] }, y: { distr: this.logs() ? 3 : 1, range: (plot, low, high) => this.reaches(plot, ...this.span(plot, low, high)) } },
        axes: [{ ...axis, size: 30, values: (plot, ticks) => ticks.map((tick) => this.axis.written ? this.axis.written(tick) : written(tick)), incrs: INCREMENTS }, { ...axis, size: 52, values: (plot, ticks) => ticks.map((tick) => tick == null ? "" : written(tick)) }],
        series: [{}, ...all.map((index) => line(index, () => this.smooths(index) ? "55" : "")), ...all.map((index) => line(index, () => "")), ...theirs],
        legend: { show: false },
        cursor: {
          sync: { key: cursor.key, filters: { pub: (type) => type.startsWith("mouse") && type !== "mouseup" && type !== "mousedown" } },
          drag: { x: true, y: false, setScale: true }, points: { size: 6 }, bind: { dblclick: () => () => { this.unlook(); return null; } },
        },
        hooks: { drawAxes: [(plot) => this.shade(plot)], setCursor: [() => this.readings()], setSelect: [() => this.zoom()], draw: [(plot) => this.mark(plot)] },
      };
    }

    // The visible bands, each as [x, low, high].
    bands() {
      return this.series.filter(({ visible, band }) => visible && band).map((each) => [each, [...each.band].map(([step, [low, high]]) => [this.axis.place(step), low, high]).filter(([x]) => x != null)]);
    }

    // Negative values rule out a log scale; zeros are omitted.
    logs() {
      const values = this.series.flatMap(({ points }) => [...points.values()]);
      return this.log && values.some((value) => value > 0) && !values.some((value) => value < 0);
    }

    reaches(plot, low, high) {
      return plot.scales.y.distr === 3 ? low > 0 ? uPlot.rangeLog(low, high, 10, false) : [0.1, 1] : padRange(plot, low, high);
    }

    // The lowest and highest visible value, including bands.
    span(plot, low, high) {
      const { min, max } = plot.scales.x;
      if (this.far.length) [low, high] = span(plot.data.slice(1).map((values, index) => [values, this.fences[index]]).filter((_, index) => plot.series[index + 1].show), ...plot.series[0].idxs);
      const seen = this.bands().flatMap(([, edge]) => edge.filter(([x]) => x >= min && x <= max).flatMap(([, ...ends]) => ends));
      return seen.length ? [seen.reduce((a, b) => Math.min(a, b), low ?? Infinity), seen.reduce((a, b) => Math.max(a, b), high ?? -Infinity)] : [low, high];
    }

    // Bands are drawn behind all lines.
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
        ctx.fillStyle = `${this.ink(this.series.indexOf(each))}33`;
        ctx.fill();
      }
      ctx.restore();
    }

    // A curve with few points is not smoothed.
    smooths(index) {
      return this.smooth && this.weight > 0 && this.series[index].points.size >= ENOUGH;
    }

    style() {
      const many = this.series.length;
      this.series.forEach(({ visible }, index) => {
        const [raw, smooth, theirs] = [0, 1, 2].map((kind) => this.plot.series[1 + kind * many + index]);
        const dash = dashes(this.series[index].colour), smooths = this.smooths(index);
        Object.assign(raw, { show: visible, width: smooths ? 1 : 2, dash: smooths ? [] : dash });
        Object.assign(smooth, { show: visible && smooths, width: 2, dash });
        if (theirs) theirs.show = visible;
      });
    }

    // `rows` are the axis positions with the steps of both runs at each.
    data() {
      const ours = new Set(this.series.flatMap((each) => [...each.points.keys(), ...each.odd.keys()])), theirs = new Set(Object.values(this.beside?.lines ?? {}).flatMap((points) => [...points.keys()]));
      const found = new Map();
      const lay = (steps, place, whose) => {
        for (const step of steps) {
          const x = place(step);
          if (x == null) continue;
          if (!found.has(x)) found.set(x, { x });
          found.get(x)[whose] = step;
        }
      };
      lay(ours, this.axis.place, "step");
      if (this.beside) lay(theirs, (step) => this.beside.place(step, this.axis), "theirs");
      this.rows = [...found.values()].sort((a, b) => a.x - b.x);
      const logs = this.logs(), seen = (value) => value == null || (logs && value <= 0) ? null : value;
      const raw = this.series.map((each) => this.rows.map(({ step }) => seen(each.points.get(step))));
      const other = this.beside ? this.series.map(({ name }) => this.rows.map((row) => seen(this.beside.lines[name]?.get(row.theirs)))) : [];
      const [fences, theirFences] = [raw, other].map((lines) => lines.map(fence));
      const eased = (values, edge) => smoothed(values.map((value) => this.all || inside(value, edge) ? value : null), this.weight);
      this.far = raw.flatMap((values, index) => this.series[index].visible ? values.flatMap((y, i) => y == null || inside(y, fences[index]) ? [] : [{ x: this.rows[i].x, y, index }]) : []);
      this.tell(logs);
      if (this.all) this.far = [];
      this.fences = [...fences, ...fences, ...theirFences];
      return [this.rows.map(({ x }) => x), ...raw, ...raw.map((values, index) => eased(values, fences[index])), ...other.map((values, index) => this.smooths(index) ? eased(values, theirFences[index]) : values)];
    }

    // Steps at which visible lines are NaN or infinite.
    oddly() {
      const steps = [...new Set(this.series.flatMap(({ visible, odd }) => visible ? [...odd.keys()] : []))].sort((a, b) => a - b);
      if (steps.length < 2) return steps.length ? `NaN/Inf at step ${steps[0]}` : "";
      return `NaN/Inf at ${steps.length} steps from ${steps[0]} to ${steps.at(-1)}`;
    }

    // Show the scale and the number of excluded outliers.
    tell(logs) {
      const count = this.far.length;
      this.units.textContent = [this.unit, logs ? "log scale" : this.log ? "linear: negative values" : "", this.oddly()].filter(Boolean).join(" · ");
      this.outside.hidden = !count;
      this.outside.textContent = this.all ? "Hide outliers" : `${count} outlier${count === 1 ? "" : "s"}`;
      const values = count === 1 ? "1 outlier" : `${count} outliers`;
      this.outside.setAttribute("aria-label", this.all ? `Hide ${values} in ${this.title}` : `Show ${values} in ${this.title}`);
    }

    // Change the y-scale.
    scaled(log, all) {
      Object.assign(this, { log, all });
      this.start();
    }

    add(name, step, y) {
      const each = this.series.find((one) => one.name === name) ?? this.extend(name);
      each.points.set(step, y);
      each.odd.delete(step);
      this.later();
    }

    // A value is NaN or infinite.
    broke(name, step, word) {
      const each = this.series.find((one) => one.name === name) ?? this.extend(name);
      each.points.delete(step);
      each.odd.set(step, word);
      this.later();
    }

    // Add a line that gets its first point only now.
    extend(name) {
      this.series.push({ name, points: new Map(), odd: new Map(), visible: true, colour: this.series.length, band: null });
      this.start();
      this.legend();
      return this.series.at(-1);
    }

    // Remove everything after a step, which a resumed run repeats.
    truncate(step) {
      for (const { points, odd } of this.series) for (const values of [points, odd]) for (const at of [...values.keys()]) if (at > step) values.delete(at);
      this.later();
    }

    later() {
      this.pending ??= setTimeout(() => { this.pending = null; this.draw(); }, REDRAW);
    }

    draw() {
      if (this.log && this.logs() !== (this.plot.scales.y.distr === 3)) return this.start();
      this.style();
      this.plot.setData(this.data(), !this.zoomed);
      if (this.zoomed) this.plot.setScale("x", { min: this.range[0], max: this.range[1] });
      this.readings();
      if (this.details.open) this.fill();
    }

    mark(plot) {
      drawMarks(plot, this.placed());
      this.series.forEach(({ visible, odd }, index) => {
        for (const step of visible ? odd.keys() : []) drawOdd(plot, { x: this.axis.place(step), ink: this.ink(index) });
      });
      for (const { x, y, index } of this.far) drawOutside(plot, { x, y, ink: this.ink(index) });
    }

    placed() {
      return this.marks.map(({ step, kind, text }) => ({ x: this.axis.place(step), kind, text })).filter(({ x }) => x != null);
    }

    // Show the points along another axis.
    along(axis) {
      this.axis = axis;
      this.style();
      this.view(null);
      if (this.details.open) this.fill();
    }

    // Zoom to the selection, made in this chart or through the shared cursor.
    zoom() {
      const { left, width } = this.plot.select;
      if (width) this.zoomTo([left, left + width].map((at) => this.plot.posToVal(at, "x")));
    }

    look(low, high) {
      this.view([low, high]);
      this.zoomTo([low, high]);
    }

    zoomTo([low, high]) {
      this.zoomed = true;
      this.range = [low, high];
      this.reset.hidden = false;
      this.closer(...this.inside([low, high]), [low, high]);
    }

    // The first and last step in a range of the axis.
    inside([low, high]) {
      const steps = this.rows.filter(({ x, step }) => step != null && x >= low && x <= high).map(({ step }) => step);
      return [steps[0], steps.at(-1)];
    }

    unlook() {
      this.view(null);
      this.closer(undefined, undefined, null);
    }

    // Show a range of the axis, or all of it, without calling `zoomed`.
    view(range) {
      this.zoomed = Boolean(range);
      this.range = range;
      this.reset.hidden = !range;
      this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      this.plot.setData(this.data(), !range);
      if (range) this.plot.setScale("x", { min: range[0], max: range[1] });
    }

    switch(smooth = !this.smooth) {
      this.smooth = smooth;
      this.toggle.setAttribute("aria-pressed", this.smooth);
      this.draw();
    }

    resize() {
      const width = this.canvas.clientWidth;
      if (width && (width !== this.plot.width || this.tall !== this.plot.height)) this.plot.setSize({ width, height: this.tall });
    }

    grow(tall = TALL) {
      this.tall = tall;
      this.resize();
    }

    legend() {
      this.keys.replaceChildren(...this.series.map((each, index) => {
        const dash = dashes(each.colour).join(" ");
        const key = make("button", { type: "button", class: "chart-key", "aria-pressed": each.visible });
        key.innerHTML = `<svg width="22" height="8" aria-hidden="true"><path d="M0 4h22" fill="none" stroke="${this.ink(index)}" stroke-width="2.5" stroke-dasharray="${dash}"/></svg>`;
        key.append(each.name, " ", each.reading = make("strong"), " ", each.other = make("span", { class: "text-secondary" }));
        key.addEventListener("click", () => this.hide(index, key));
        return key;
      }));
      this.readings();
    }

    hide(index, key) {
      const each = this.series[index];
      each.visible = !each.visible;
      key.setAttribute("aria-pressed", each.visible);
      this.draw();
    }

    // The values at the cursor, else the newest ones, and the baseline's value at or before that position.
    readings() {
      const at = this.plot?.cursor.idx ?? this.rows.length - 1;
      this.series.forEach((each) => {
        if (!each.reading) return;
        const exact = this.plot?.cursor.idx != null && this.rows[at]?.step != null;
        each.reading.textContent = exact ? this.read(each, this.rows[at].step) : this.newest(each, at);
        const theirs = this.beside && this.last(this.beside.lines[each.name] ?? new Map(), "theirs", at);
        each.other.textContent = theirs == null ? "" : `${this.beside.name}: ${written(theirs)}`;
      });
    }

    // Format a value, including NaN and infinity.
    read(each, step) {
      return each.odd.get(step) ?? written(each.points.get(step));
    }

    newest(each, at) {
      for (let i = at; i >= 0; i--) {
        const { step } = this.rows[i] ?? {};
        if (each.points.get(step) != null || each.odd.has(step)) return this.read(each, step);
      }
      return written(null);
    }

    last(points, whose, at) {
      for (let i = at; i >= 0; i--) if (points.get(this.rows[i]?.[whose]) != null) return points.get(this.rows[i][whose]);
      return null;
    }

    // Move the cursor by keyboard.
    reach(x) {
      this.reached = x;
      this.plot.setCursor({ left: this.plot.valToPos(x, "x"), top: this.tall / 2 });
      const said = this.series.map((each) => `${each.name} ${each.reading.textContent}`);
      this.said.textContent = `${this.axis.name} ${this.axis.written ? this.axis.written(x) : written(x)}: ${said.join(", ")}`;
    }

    clicked() {
      const { idx, left } = this.plot.cursor;
      if (this.open && idx != null && Math.abs(this.plot.valToPos(this.rows[idx].x, "x") - left) <= NEAR) this.openAt(this.rows[idx].x);
    }

    openAt(x) {
      const row = this.rows.find((one) => one.x === x && one.step != null);
      if (row) this.open(row.step);
    }

    fill() {
      if (!this.details.open) return;
      const cells = (tag, values, attributes) => make("tr", {}, ...values.map((value) => make(tag, attributes, value)));
      const along = this.axis.name === "step" ? [] : [this.axis.name], also = this.beside ? this.series.map(({ name }) => `${this.beside.name}: ${name}`) : [];
      const steps = this.axis.own ? [] : ["step"];
      const cell = (each, at) => this.read(each, at) + (each.band?.has(at) ? ` (${each.band.get(at).map(written).join(" to ")})` : "");
      const head = cells("th", [...steps, ...along, ...this.series.map((each) => each.name), ...also], { scope: "col" });
      const rows = this.rows.filter(({ step, theirs }) => step != null || theirs != null).map((row) => cells("td", [
        ...steps.map(() => String(row.step ?? row.theirs)),
        ...along.map(() => this.axis.written ? this.axis.written(row.x) : written(row.x)),
        ...this.series.map((each) => cell(each, row.step)),
        ...also.map((_, index) => written(this.beside.lines[this.series[index].name]?.get(row.theirs))),
      ], {}));
      this.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    }
  }

  return Object.assign((element, options) => new Chart(element, options), { STEPS });
})();

// <div data-chart="id"> beside {{ chart|json_script:"id" }} makes a chart without code. With `job` (and its cursor
// `after`) it follows that job: each series takes `metric` of the events of kind `event`.
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
