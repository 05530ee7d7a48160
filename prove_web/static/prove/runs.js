// The curves of a run: a snapshot, then what the socket tells after its cursor. A chart is drawn once it comes into view.
document.addEventListener("DOMContentLoaded", async () => {
  const section = document.querySelector("[data-run]");
  if (!section) return;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const answer = await fetch(section.dataset.run, { headers: { Accept: "application/json" } });
  if (!answer.ok) return failed(section);
  const snapshot = await answer.json();
  const curves = new Curves(section, charts);
  curves.read("points", snapshot.points);
  curves.read("held_out", snapshot.held_out);
  curves.show();
  prove.live.subscribe({ job: snapshot.job, after: snapshot.cursor }, ({ events = [] }) => events.forEach((event) => curves.follow(event)));
});

function failed(section) {
  for (const body of section.querySelectorAll("[data-curve]")) body.textContent = "The curves could not be read. Reload the page to try again.";
}

const SOURCE = { step: "points", held_out: "held_out" };
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

function clock(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${+(seconds / 60).toFixed(1)} min` : `${+(seconds / 3600).toFixed(1)} h`;
}

class Curves {
  constructor(section, charts) {
    this.section = section;
    this.values = { points: new Map(), held_out: new Map() }; // by metric: a map from step to value
    this.places = { tokens: new Map([[0, 0]]), time: new Map([[0, 0]]) }; // where a step lies on these axes
    this.axes = {
      step: prove.chart.STEPS,
      tokens: { name: "tokens", place: (step) => this.places.tokens.get(step), written: (x) => short.format(x) },
      time: { name: "time", place: (step) => this.places.time.get(step), written: clock },
    };
    this.axis = "step";
    this.thinned = { points: false, held_out: false };
    this.wanted = new Map();
    this.charts = charts.map((chart, index) => ({ ...chart, body: section.querySelector(`[data-curve="${index}"]`), drawn: null }));
    this.seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => this.draw(target)), { rootMargin: "400px" });
    for (const button of section.querySelectorAll("[data-axis]")) button.addEventListener("click", () => this.along(button.dataset.axis));
  }

  // Columns as the server sends them (see points.py); what is known already is known better now.
  read(source, { step, axes, series, thinned }) {
    this.thinned[source] ||= thinned;
    if (source === "points") for (const [name, places] of Object.entries(axes)) places.forEach((x, i) => this.places[name].set(step[i], x));
    for (const [metric, told] of Object.entries(series)) {
      const { at, values } = Array.isArray(told) ? { at: null, values: told } : told;
      values.forEach((value, i) => this.set(source, metric, step[at ? at[i] : i], value));
    }
  }

  set(source, metric, step, value) {
    const known = this.values[source];
    if (!known.has(metric)) known.set(metric, new Map());
    known.get(metric).set(step, value);
  }

  has({ source, lines }) {
    return lines.some(([, metric]) => this.values[source].get(metric)?.size);
  }

  // A chart is there once there is something to draw in it, and a group once one of its charts is.
  show() {
    for (const chart of this.charts) {
      chart.body.parentElement.hidden = !this.has(chart);
      if (this.has(chart) && !chart.drawn) this.seen.observe(chart.body);
    }
    let some = false;
    for (const group of this.section.querySelectorAll(".run-group")) {
      group.hidden = !group.querySelector(".run-chart:not([hidden])");
      this.section.querySelector(`.run-groups a[href="#${group.id}"]`).hidden = group.hidden;
      some ||= !group.hidden;
    }
    this.section.querySelector(".run-no-curves").hidden = some;
    this.section.querySelector(".run-curves-head").hidden = !some;
    for (const name of ["tokens", "time"]) this.section.querySelector(`[data-axis="${name}"]`).hidden = this.places[name].size < 2;
  }

  draw(body) {
    this.seen.unobserve(body);
    const chart = this.charts.find((each) => each.body === body);
    chart.drawn ??= prove.chart(body, {
      title: chart.title,
      unit: chart.unit,
      help: chart.help,
      smooth: chart.source === "points",
      axis: this.axes[this.axis],
      zoomed: (first, last) => this.closer(chart, first, last),
      series: chart.lines.filter(([, metric]) => this.values[chart.source].get(metric)?.size).map(([name, metric]) => ({ name, points: this.values[chart.source].get(metric) })),
    });
  }

  follow({ kind, data }) {
    const source = SOURCE[kind];
    if (kind === "rewound") this.truncate(data.step);
    if (!source) return;
    this.place(source, data);
    for (const [metric, value] of Object.entries(data)) if (typeof value === "number" && metric !== "step") this.set(source, metric, data.step, value);
    for (const chart of this.charts) {
      if (chart.source !== source) continue;
      if (chart.drawn) for (const [name, metric] of chart.lines) if (data[metric] != null) chart.drawn.add(name, data.step, data[metric]);
    }
    if (this.charts.some((chart) => chart.body.parentElement.hidden && this.has(chart))) this.show();
  }

  // A new step lies behind the one before it on every axis.
  place(source, data) {
    if (source !== "points") return;
    if (data.elapsed_s != null) this.places.time.set(data.step, data.elapsed_s);
    const before = this.places.tokens.get(data.step - 1);
    if (data.tokens != null && before != null) this.places.tokens.set(data.step, before + data.tokens);
  }

  truncate(step) {
    for (const known of [...Object.values(this.values).flatMap((one) => [...one.values()]), ...Object.values(this.places)]) for (const at of [...known.keys()]) if (at > step) known.delete(at);
    for (const { drawn } of this.charts) drawn?.truncate(step);
  }

  along(name) {
    this.axis = name;
    for (const button of this.section.querySelectorAll("[data-axis]")) button.setAttribute("aria-pressed", String(button.dataset.axis === name));
    for (const { drawn } of this.charts) drawn?.along(this.axes[name]);
  }

  // Where points were left out, what lies in view is asked for again; all charts that zoom together ask once.
  closer(chart, first, last) {
    if (!this.thinned[chart.source]) return;
    if (!this.wanted.size) setTimeout(() => this.ask(), 50);
    this.wanted.set(chart, [first, last]);
  }

  async ask() {
    const wanted = [...this.wanted];
    this.wanted.clear();
    for (const source of ["points", "held_out"]) {
      const mine = wanted.filter(([chart]) => chart.source === source);
      if (!mine.length) continue;
      const names = [...new Set(mine.flatMap(([{ lines }]) => lines.map(([, metric]) => metric)))];
      const [from, to] = [Math.min(...mine.map(([, [first]]) => first)), Math.max(...mine.map(([, [, last]]) => last))];
      const answer = await fetch(`${this.section.dataset.metric}?${new URLSearchParams({ source, names, from, to })}`, { headers: { Accept: "application/json" } });
      if (!answer.ok) continue;
      const columns = await answer.json();
      this.read(source, { ...columns, thinned: true });
      for (const [{ drawn, lines }] of mine) for (const [name, metric] of lines) for (const [step, value] of this.values[source].get(metric) ?? []) if (step >= from && step <= to) drawn.add(name, step, value);
    }
  }
}
