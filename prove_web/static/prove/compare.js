// Overlaid curves of several runs: loaded as the address says, drawn by charts.js, and reloaded after zooming.
document.addEventListener("DOMContentLoaded", () => {
  const section = document.querySelector("[data-compare]");
  if (!section) return;
  const form = section.querySelector("[data-compare-form]");
  form.addEventListener("change", ({ target }) => { if (target.name !== "metric") form.requestSubmit(); });
  new Overlay(section).begin();
});

const AGAIN = 20000;
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const lasting = (seconds) => seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${+(seconds / 60).toFixed(1)} min` : `${+(seconds / 3600).toFixed(1)} h`;
const AXES = {
  tokens: { name: "tokens", own: true, place: (x) => x, written: (x) => compact.format(x) },
  time: { name: "time", own: true, place: (x) => x, written: lasting },
};

class Overlay {
  constructor(section) {
    Object.assign(this, { section, drawn: new Map(), every: 1, axis: "step" });
  }

  async begin() {
    const data = await this.ask();
    if (!data) return this.say("Could not load the charts. Reload the page.");
    Object.assign(this, { every: data.every, axis: data.axis });
    const places = this.section.querySelectorAll("[data-compare-charts] .card-body");
    data.charts.forEach((chart, index) => this.draw(places[index], chart));
    this.working = this.section.hasAttribute("data-working");
    this.note(data);
    if (this.working) setInterval(() => document.hidden || this.again(), AGAIN);
  }

  async ask(range = {}) {
    const url = new URL(this.section.dataset.compare, location.href);
    for (const [name, value] of Object.entries(range)) url.searchParams.set(name, Math.round(value));
    const answer = await fetch(url, { headers: { Accept: "application/json" } }).catch(() => null);
    return answer?.ok ? answer.json() : null;
  }

  draw(body, chart) {
    if (!chart.lines.length) {
      const title = Object.assign(document.createElement("h3"), { className: "card-title", textContent: chart.title });
      const why = Object.assign(document.createElement("p"), { className: "text-secondary m-0", textContent: "No run logged this metric." });
      return body.replaceChildren(title, why);
    }
    this.drawn.set(chart.metric, prove.chart(body, {
      title: chart.title,
      unit: chart.unit,
      help: chart.help,
      smooth: !chart.metric.startsWith("held_out."),
      axis: AXES[this.axis] ?? prove.chart.STEPS,
      zoomed: (first, last) => this.closer(chart.metric, first, last),
      series: chart.lines.map((line) => ({ name: line.name, colour: line.colour, points: points(line), band: band(line) })),
    }));
  }

  note({ every, left_out: silent }) {
    const runs = silent.length > 1 ? `Runs ${silent.join(", ")} do` : `Run ${silent[0]} does`;
    const words = [];
    if (this.working) words.push(`Updated at ${new Date().toLocaleTimeString()}; refreshes every ${AGAIN / 1000} s while a run is running.`);
    if (every > 1) words.push(`Each point is the mean over ${every} steps; zoom in to see them all.`);
    if (silent.length) words.push(`${runs} not log this axis and ${silent.length > 1 ? "are" : "is"} hidden.`);
    this.words = words.join(" ");
    this.say(this.words);
  }

  say(text) {
    this.section.querySelector("[data-compare-note]").textContent = text;
  }

  // Where a point averages several steps, load the visible steps.
  async closer(metric, first, last) {
    if (first == null || this.every === 1 || this.axis !== "step") return;
    const data = await this.ask({ from: first, to: last });
    if (data) this.put(data.charts.find((chart) => chart.metric === metric), first, last);
  }

  async again() {
    const data = await this.ask();
    if (!data) return this.say(`${this.words} The last refresh failed.`);
    for (const chart of data.charts) this.put(chart, -Infinity, Infinity);
    this.note(data);
  }

  put({ metric, lines }, first, last) {
    const chart = this.drawn.get(metric);
    if (!chart) return;
    for (const line of lines) {
      const each = chart.series.find(({ name }) => name === line.name);
      if (!each) continue;
      for (const at of [...each.points.keys()]) if (at >= first && at <= last) each.points.delete(at);
      for (const [x, y] of points(line)) each.points.set(x, y);
      for (const [x, ends] of band(line) ?? []) each.band?.set(x, ends);
      if (each.band) each.band = new Map([...each.band].sort(([a], [b]) => a - b));
    }
    chart.later();
  }
}

function points({ x, y }) {
  return x.map((at, index) => [at, y[index]]);
}

function band({ x, low, high }) {
  return low ? x.map((at, index) => [at, [low[index], high[index]]]).filter(([, [a]]) => a != null) : null;
}
