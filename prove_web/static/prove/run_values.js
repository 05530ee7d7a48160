// Metrics of a run and of its baseline by step, and the positions of steps on the other axes.
async function read(url) {
  const answer = await fetch(url, { headers: { Accept: "application/json" } }).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

const SOURCE = { step: "points", held_out: "held_out" };
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

function clock(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${+(seconds / 60).toFixed(1)} min` : `${+(seconds / 3600).toFixed(1)} h`;
}

// A run's values by metric, and the positions of its steps on the other axes.
class Values {
  points = new Map();
  held_out = new Map();
  places = { tokens: new Map([[0, 0]]), time: new Map([[0, 0]]) };
  thinned = { points: false, held_out: false };
  odd = { points: new Map(), held_out: new Map() }; // NaN and infinite values by metric and step

  // Read columns from the server (see metric_series.py); newer values replace known ones.
  read(source, { step, axes, series, thinned, odd = {} }) {
    this.thinned[source] ||= thinned;
    if (source === "points") for (const [name, places] of Object.entries(axes)) places.forEach((x, i) => this.places[name].set(step[i], x));
    for (const [metric, points] of Object.entries(odd)) for (const [at, word] of points) this.broke(source, metric, at, word);
    for (const [metric, points] of Object.entries(series)) {
      const { at, values } = Array.isArray(points) ? { at: null, values: points } : points;
      values.forEach((value, i) => this.set(source, metric, step[at ? at[i] : i], value));
    }
  }

  set(source, metric, step, value) {
    const known = this[source];
    if (!known.has(metric)) known.set(metric, new Map());
    known.get(metric).set(step, value);
  }

  broke(source, metric, step, word) {
    this.oddities(source, metric).set(step, word);
  }

  oddities(source, metric) {
    if (!this.odd[source].has(metric)) this.odd[source].set(metric, new Map());
    return this.odd[source].get(metric);
  }

  // Take all values of an event; return their source, or null without values.
  take({ kind, data }) {
    const source = SOURCE[kind];
    if (kind === "rewound") this.forget(data.step);
    if (!source) return null;
    this.lay(source, data);
    for (const [metric, value] of Object.entries(data)) if (typeof value === "number" && metric !== "step") this.set(source, metric, data.step, value);
    for (const [metric, word] of Object.entries(data["!odd"] ?? {})) this.broke(source, metric, data.step, word);
    return source;
  }

  // Each new step comes after the previous one on every axis.
  lay(source, data) {
    if (source !== "points") return;
    if (data.elapsed_s != null) this.places.time.set(data.step, data.elapsed_s);
    const before = this.places.tokens.get(data.step - 1);
    if (data.tokens != null && before != null) this.places.tokens.set(data.step, before + data.tokens);
  }

  forget(step) {
    for (const known of [...this.points.values(), ...this.held_out.values(), ...this.odd.points.values(), ...this.odd.held_out.values(), ...Object.values(this.places)]) for (const at of [...known.keys()]) if (at > step) known.delete(at);
  }

  values(source, metric) {
    if (!this[source].has(metric)) this[source].set(metric, new Map());
    return this[source].get(metric);
  }

  place(step, axis) {
    return axis.name === "step" ? step : this.places[axis.name].get(step);
  }
}

// The baseline, which may be running itself.
class Beside extends Values {
  // `without` are step metrics that depend on another reward definition, and are therefore not drawn together.
  constructor(name, metric, { points, held_out }, without = []) {
    super();
    Object.assign(this, { name, metric, without });
    this.read("points", points);
    this.read("held_out", held_out);
  }

  of({ source, lines }) {
    return { name: this.name, place: (step, axis) => this.place(step, axis), lines: Object.fromEntries(lines.filter(([, metric]) => source !== "points" || !this.without.includes(metric)).map(([name, metric]) => [name, this.values(source, metric)])) };
  }

  follow(event) {
    this.take(event);
  }
}
