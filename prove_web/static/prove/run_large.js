// Shows one chart on the whole page until it is closed.
class Large {
  constructor(dialog, onChange) {
    Object.assign(this, { dialog, onChange, chart: null, place: dialog.querySelector(".chart-large-place") });
    dialog.addEventListener("close", () => this.close());
    addEventListener("resize", () => this.fit());
  }

  open(chart) {
    if (this.dialog.open) return this.dialog.close();
    this.chart = chart;
    chart.card.style.minHeight = `${chart.card.offsetHeight}px`;
    this.place.append(chart.body);
    this.dialog.showModal();
    this.fit();
    this.onChange(chart.key);
    chart.drawn.canvas.focus();
  }

  fit() {
    this.chart?.drawn.grow(Math.max(220, innerHeight - 180));
  }

  close() {
    const { card, body, drawn } = this.chart;
    this.chart = null;
    card.append(body);
    card.style.minHeight = "";
    drawn.grow();
    this.onChange("");
  }
}
