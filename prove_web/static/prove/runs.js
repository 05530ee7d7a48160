// Curves of a run: a snapshot, then socket events after its cursor. A chart is drawn once it becomes visible.
document.addEventListener("DOMContentLoaded", async () => {
  const section = document.querySelector("[data-run]");
  if (!section) return;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const { run, base } = section.dataset;
  const [snapshot, other] = await Promise.all([run, base].map((url) => url ? read(url) : null));
  if (!snapshot) return failed(section);
  const beside = other && new Beside(section.dataset.baseName, section.dataset.baseMetric, other, section.dataset.baseWithout?.split(" "));
  const curves = new Curves(section, charts, beside);
  curves.read("points", snapshot.points);
  curves.read("held_out", snapshot.held_out);
  curves.marked(snapshot.marks);
  curves.show();
  curves.enlarged();
  if (beside && !other.over) prove.live.subscribe({ job: other.job, after: other.cursor }, ({ events = [] }) => { events.forEach((event) => beside.follow(event)); curves.again(); });
  prove.live.subscribe({ job: snapshot.job, after: snapshot.cursor }, ({ events = [] }) => events.forEach((event) => curves.follow(event)));
});

function failed(section) {
  for (const body of section.querySelectorAll("[data-curve]")) body.textContent = "Could not load the charts. Reload the page.";
}

class Curves extends Values {
  constructor(section, charts, beside) {
    super();
    Object.assign(this, { section, beside, marks: [], wanted: new Map() });
    this.axes = {
      step: prove.chart.STEPS,
      tokens: { name: "tokens", place: (step) => this.places.tokens.get(step), written: (x) => short.format(x) },
      time: { name: "time", place: (step) => this.places.time.get(step), written: clock },
    };
    this.charts = charts.map((chart, index) => {
      const body = section.querySelector(`[data-curve="${index}"]`), card = body.parentElement;
      return { ...chart, body, card, home: card.parentElement, key: chart.title.toLowerCase().replaceAll(/\W+/g, "-"), drawn: null };
    });
    this.seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => this.draw(target)), { rootMargin: "400px" });
    this.look = prove.look(section, (name) => this.changed(name));
    this.large = new Large(section.querySelector(".chart-large"), (key) => this.look.enlarge(key));
    this.arrange();
    this.find = section.querySelector("[data-find]");
    this.find.addEventListener("input", () => this.show());
  }

  get drawn() {
    return this.charts.filter(({ drawn }) => drawn);
  }

  get axis() {
    const known = this.look.axis === "step" || this.places[this.look.axis]?.size > 1;
    return this.axes[known ? this.look.axis : "step"] ?? this.axes.step;
  }

  has({ source, lines }) {
    return lines.some(([, metric]) => this.tells(source, metric));
  }

  // Whether a metric has any value, including NaN and infinity.
  tells(source, metric) {
    return this[source].get(metric)?.size || this.odd[source].get(metric)?.size;
  }

  // Whether a chart matches the search by its title, lines or metrics.
  sought({ title, lines }) {
    const words = this.find.value.trim().toLowerCase();
    return !words || [title, ...lines.flat()].some((one) => one.toLowerCase().includes(words));
  }

  // A chart is shown once it has data, and a group once it has a visible chart.
  show() {
    for (const chart of this.charts) {
      chart.card.hidden = !this.has(chart) || !this.sought(chart);
      if (this.has(chart) && !chart.drawn) this.seen.observe(chart.body);
    }
    let some = false;
    for (const group of this.section.querySelectorAll(".run-group")) {
      group.hidden = !group.querySelector(".run-chart:not([hidden])");
      this.section.querySelector(`.run-groups a[href="#${group.id}"]`).hidden = group.hidden;
      some ||= !group.hidden;
    }
    const any = this.charts.some((chart) => this.has(chart));
    this.section.querySelector(".run-no-curves").hidden = any;
    this.section.querySelector(".run-none-found").hidden = some || !any;
    this.section.querySelector(".run-curves-head").hidden = !any;
    for (const name of ["tokens", "time"]) this.section.querySelector(`[data-axis="${name}"]`).hidden = this.places[name].size < 2;
  }

  // Pinned charts come first, otherwise in the original order.
  arrange() {
    const first = this.section.querySelector("#curves-pinned .run-charts");
    for (const { card, home, key } of this.charts) (this.look.pins.has(key) ? first : home).append(card);
  }

  enlarged() {
    const chart = this.charts.find(({ key }) => key === this.look.large);
    if (!chart || !this.has(chart)) return this.look.enlarge("");
    this.draw(chart.body);
    this.large.open(chart);
  }

  acts(chart) {
    const pin = (drawn, button) => {
      const on = !this.look.pins.has(chart.key);
      button.setAttribute("aria-pressed", on);
      this.look.pin(chart.key, on);
      button.focus();
    };
    return [{ text: "Pin", pressed: this.look.pins.has(chart.key), act: pin }, { text: "Enlarge", act: () => this.large.open(chart) }];
  }

  draw(body) {
    this.seen.unobserve(body);
    const chart = this.charts.find((each) => each.body === body), { source, lines } = chart;
    if (chart.drawn) return;
    const metrics = lines.filter(([, metric]) => this.tells(source, metric));
    const { run, metric: address, opens } = this.section.dataset;
    chart.drawn = prove.chart(body, {
      title: chart.title,
      unit: chart.unit,
      help: chart.help,
      smooth: source === "points",
      weight: this.look.keep,
      axis: this.axis,
      log: this.look.log,
      all: this.look.all,
      acts: this.acts(chart),
      marks: this.visibleMarks(),
      beside: this.beside?.of({ source, lines: metrics }),
      zoomed: (first, last, range) => this.closer(chart, first, last, range),
      open: opens && source === "points" && chart.group === "Reward" ? (step) => location.assign(`${new URL("..", new URL(run, location)).pathname}?step=${step}`) : null,
      csv: () => `${address}?${new URLSearchParams({ source, names: lines.map(([, metric]) => metric), points: 100000, format: "csv" })}`,
      series: metrics.map(([name, metric]) => ({ name, points: this.values(source, metric), odd: this.oddities(source, metric) })),
    });
    if (!this.look.zoom) return;
    chart.drawn.view(this.look.zoom);
    this.inView ??= chart.drawn.inside(this.look.zoom);
    this.want(chart);
  }

  follow(event) {
    const { kind, attempt, data } = event, source = this.take(event);
    if (kind === "rewound") this.truncate(data.step, attempt);
    if (kind === "checkpoint") this.happened({ kind, step: data.step, text: "checkpoint" });
    if (kind === "held_out") this.happened({ kind, step: data.step, text: "held-out evaluation" });
    if (!source) return;
    for (const chart of this.drawn) if (chart.source === source) for (const [name, metric] of chart.lines) {
      if (data[metric] != null) chart.drawn.add(name, data.step, data[metric]);
      else if (data["!odd"]?.[metric]) chart.drawn.broke(name, data.step, data["!odd"][metric]);
    }
    if (this.charts.some((chart) => chart.card.hidden && this.has(chart) && this.sought(chart))) this.show();
  }

  // The baseline has new values.
  again() {
    for (const { drawn } of this.drawn) drawn.later();
  }

  truncate(step, attempt) {
    for (const { drawn } of this.drawn) drawn.truncate(step);
    this.marked(this.marks.filter((mark) => mark.step <= step));
    if (attempt > 1) this.happened({ kind: "resumed", step, text: `attempt ${attempt} resumed` });
  }

  happened(mark) {
    this.marked([...this.marks.filter(({ kind, step }) => kind !== mark.kind || step !== mark.step), mark]);
  }

  visibleMarks() {
    return this.marks.filter(({ kind }) => this.look.marks.has(kind));
  }

  // Show the marks in every chart, and as a list for screen readers.
  marked(marks) {
    this.marks = marks.sort((a, b) => a.step - b.step);
    for (const { drawn } of this.drawn) Object.assign(drawn, { marks: this.visibleMarks() }).later();
    for (const button of this.section.querySelectorAll("[data-mark]")) button.hidden = !marks.some(({ kind }) => kind === button.dataset.mark);
    this.section.querySelector(".curve-marks").hidden = !marks.length;
    this.section.querySelector(".curve-marks ol").replaceChildren(...this.marks.map(({ step, text }) => prove.parts.make("li", {}, `Step ${step}: ${text}`)));
  }

  changed(name) {
    if (name === "pins") {
      this.arrange();
      this.show();
    }
    for (const { drawn, source } of this.drawn) {
      if (name === "x") drawn.along(this.axis);
      if (name === "y" || name === "far") drawn.scaled(this.look.log, this.look.all);
      if (name === "marks") Object.assign(drawn, { marks: this.visibleMarks() }).later();
      if (name === "smooth") Object.assign(drawn, { weight: this.look.keep }).switch(source === "points" && this.look.keep > 0);
    }
  }

  // Zoom all charts together. Where points were downsampled, load the visible range once for all charts.
  closer(chart, first, last, range) {
    this.look.narrow(range);
    for (const { drawn } of this.drawn) if (drawn !== chart.drawn) drawn.view(range);
    this.inView = first == null ? null : [first, last];
    for (const each of this.drawn) this.want(each);
  }

  want(chart) {
    if (!this.inView || !(this.thinned[chart.source] || this.beside?.thinned[chart.source])) return;
    if (!this.wanted.size) setTimeout(() => this.ask(), 50);
    this.wanted.set(chart, this.inView);
  }

  async ask() {
    const wanted = [...this.wanted];
    this.wanted.clear();
    for (const source of ["points", "held_out"]) {
      const mine = wanted.filter(([chart]) => chart.source === source);
      if (!mine.length) continue;
      const names = [...new Set(mine.flatMap(([{ lines }]) => lines.map(([, metric]) => metric)))];
      const [from, to] = [Math.min(...mine.map(([, [first]]) => first)), Math.max(...mine.map(([, [, last]]) => last))];
      const query = new URLSearchParams({ source, names, from, to });
      const [columns, theirs] = await Promise.all([this.section.dataset.metric, this.beside?.metric].map((url) => url ? read(`${url}?${query}`) : null));
      if (theirs) this.beside.read(source, theirs);
      if (!columns) continue;
      this.read(source, { ...columns, thinned: true });
      for (const [{ drawn, lines }] of mine) for (const [name, metric] of lines) for (const [step, value] of this[source].get(metric) ?? []) if (step >= from && step <= to) drawn.add(name, step, value);
    }
  }
}

// Select another baseline; the page is reloaded with it in the address.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-base-choice]")) return;
  const url = new URL(location);
  url.searchParams.set("base", event.target.value);
  location.assign(url);
});
