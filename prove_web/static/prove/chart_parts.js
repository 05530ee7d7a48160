// Parts of charts other than lines: elements, numbers, averages, step marks, keys.
window.prove ??= {};
prove.parts = (() => {
  const WIDE = 420; // pixels
  const MARKS = { checkpoint: ["#7a869a", []], held_out: ["#009E73", [2, 3]], benchmark: ["#AA4499", []], resumed: ["#E69F00", [6, 3]] };
  const written = (value) => value == null ? "–" : Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value && Math.abs(value) < 1e-3 ? (+value.toPrecision(3)).toExponential() : String(+value.toPrecision(3));

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // A constant line is drawn in the middle regardless of its value, or on the axis if it is 0.
  function padRange(plot, low, high) {
    if (low == null || high == null) return [0, 1];
    if (low !== high) return uPlot.rangeNum(low, high, 0.1, true);
    return high ? [low - Math.abs(low) / 10, high + Math.abs(high) / 10] : [0, 0.1];
  }

  // Exponential moving average of the existing values, with bias correction at the start.
  function smoothed(values, keep) {
    let sum = 0, weight = 0;
    return values.map((value) => {
      if (value == null) return null;
      sum = keep * sum + (1 - keep) * value;
      weight = keep * weight + (1 - keep);
      return sum / weight;
    });
  }

  // Draw a vertical line at each mark, with its text where a wide chart has space; marks are {x, kind, text}.
  function drawMarks(plot, marks) {
    const { ctx, bbox } = plot, ratio = devicePixelRatio || 1;
    const wide = bbox.width > WIDE * ratio;
    let free = bbox.left;
    ctx.save();
    Object.assign(ctx, { font: `${10 * ratio}px system-ui, sans-serif`, textAlign: "left", textBaseline: "alphabetic" });
    for (const { x, kind, text } of marks) {
      if (x < plot.scales.x.min || x > plot.scales.x.max) continue;
      const at = Math.round(plot.valToPos(x, "x", true)), [ink, dash] = MARKS[kind] ?? MARKS.checkpoint;
      ctx.strokeStyle = ctx.fillStyle = ink;
      ctx.lineWidth = ratio;
      ctx.globalAlpha = 0.6;
      ctx.setLineDash(dash.map((one) => one * ratio));
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      const long = ctx.measureText(text).width, left = at + long + 8 * ratio > bbox.left + bbox.width ? at - long - 3 * ratio : at + 3 * ratio;
      if (!wide || left < free) continue;
      ctx.globalAlpha = 1;
      ctx.fillText(text, left, bbox.top + 10 * ratio);
      free = left + long + 6 * ratio;
    }
    ctx.restore();
  }

  // Chart keys: move between points, zoom around the current one, open its step.
  function keys(chart, event) {
    const { plot, rows } = chart, { key } = event;
    const far = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[key];
    if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
    if (far || key === "Home" || key === "End") {
      const inside = rows.filter(({ x }) => x >= plot.scales.x.min && x <= plot.scales.x.max);
      const now = inside.findIndex(({ x }) => x === chart.reached);
      const next = key === "Home" ? 0 : key === "End" || now < 0 ? inside.length - 1 : Math.min(inside.length - 1, Math.max(0, now + far));
      if (inside[next]) chart.reach(inside[next].x);
    } else if (key === "+" || key === "=" || key === "-") {
      const { min, max } = plot.scales.x, about = chart.reached ?? (min + max) / 2, share = key === "-" ? 2 : 0.5;
      chart.look(Math.max(rows[0].x, about - (about - min) * share), Math.min(rows.at(-1).x, about + (max - about) * share));
    } else if (key === "0" || key === "Escape") {
      if (!chart.zoomed) return;
      chart.unlook();
    } else if (key === "Enter" && chart.open) chart.openAt(chart.reached);
    else return;
    event.preventDefault();
  }

  return { make, written, padRange, smoothed, drawMarks, keys };
})();
