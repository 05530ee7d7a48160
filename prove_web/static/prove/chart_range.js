// The y-range of a chart: outliers, such as a spike of 1e9, are excluded and reported.
prove.range = (() => {
  const FEW = 8, TAIL = 0.05, FAR = 4, LEVEL = 1000;

  // Return the lowest and highest value that is not an outlier; null with too few values to decide. A series that is
  // almost always 0, such as a count of rare events, has no outliers.
  function fence(values) {
    const known = values.filter((value) => value != null).sort((a, b) => a - b);
    if (known.length < FEW) return null;
    const [low, high] = [TAIL, 1 - TAIL].map((share) => known[Math.round(share * (known.length - 1))]);
    const margin = low === high ? LEVEL * Math.abs(high) : FAR * (high - low);
    return margin ? [low - margin, high + margin] : null;
  }

  const inside = (value, edge) => !edge || (value >= edge[0] && value <= edge[1]);

  // Return the lowest and highest value within the fences at indices `first` to `last`; `lines` are [values, fence].
  function span(lines, first, last) {
    let [low, high] = [Infinity, -Infinity];
    for (const [values, edge] of lines) {
      for (let i = first; i <= last; i++) {
        if (values[i] == null || !inside(values[i], edge)) continue;
        low = Math.min(low, values[i]);
        high = Math.max(high, values[i]);
      }
    }
    return low > high ? [null, null] : [low, high];
  }

  // Draw a small triangle at the edge for each outlier.
  function drawOutside(plot, { x, y, ink }) {
    const { ctx, bbox } = plot, size = 5 * devicePixelRatio, { max, min } = plot.scales.y;
    const at = plot.valToPos(x, "x", true), up = y > max ? 1 : -1, edge = up > 0 ? bbox.top : bbox.top + bbox.height;
    if ((y <= max && y >= min) || at < bbox.left || at > bbox.left + bbox.width) return;
    ctx.fillStyle = ink;
    ctx.beginPath();
    ctx.moveTo(at, edge);
    ctx.lineTo(at - size, edge + up * 1.6 * size);
    ctx.lineTo(at + size, edge + up * 1.6 * size);
    ctx.fill();
  }

  // Draw a small cross on the axis at a NaN or infinite value.
  function drawOdd(plot, { x, ink }) {
    const { ctx, bbox } = plot, size = 4 * devicePixelRatio, at = x == null ? -1 : plot.valToPos(x, "x", true), foot = bbox.top + bbox.height - size;
    if (at < bbox.left || at > bbox.left + bbox.width) return;
    ctx.save();
    Object.assign(ctx, { strokeStyle: ink, lineWidth: 2 * devicePixelRatio });
    ctx.setLineDash([]);
    ctx.beginPath();
    for (const side of [-1, 1]) {
      ctx.moveTo(at - size, foot - side * size);
      ctx.lineTo(at + size, foot + side * size);
    }
    ctx.stroke();
    ctx.restore();
  }

  return { fence, inside, span, drawOutside, drawOdd };
})();
