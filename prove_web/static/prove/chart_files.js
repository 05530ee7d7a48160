// Chart export as PNG or as editable SVG. The export shows what is visible.
prove.files = (() => {
  const { make, written } = prove.parts;
  const HEAD = 44;

  function save(blob, chart, ending) {
    const link = make("a", { href: URL.createObjectURL(blob), download: `${chart.title.toLowerCase().replaceAll(/\W+/g, "-")}.${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // Save a chart with its title and legend as PNG.
  function picture(chart) {
    const from = chart.plot.ctx.canvas, ratio = devicePixelRatio || 1, head = HEAD * ratio;
    const canvas = make("canvas", { width: from.width, height: from.height + head }), ctx = canvas.getContext("2d");
    const style = getComputedStyle(document.body);
    ctx.fillStyle = style.backgroundColor;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(from, 0, head);
    ctx.fillStyle = style.color;
    ctx.font = `600 ${14 * ratio}px system-ui, sans-serif`;
    ctx.fillText([chart.title, chart.unit].filter(Boolean).join(", "), 8 * ratio, 18 * ratio);
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    let x = 8 * ratio;
    chart.series.forEach(({ name, visible }, index) => {
      if (!visible) return;
      ctx.fillStyle = chart.ink(index);
      ctx.fillText(`— ${name}`, x, 36 * ratio);
      x += ctx.measureText(`— ${name}   `).width;
    });
    canvas.toBlob((blob) => save(blob, chart, "png"));
  }

  // The same as SVG: axes with tick labels, marks, bands and lines.
  function drawing(chart) {
    const { plot } = chart, style = getComputedStyle(document.body), faint = getComputedStyle(chart.canvas);
    const { left, top, width, height } = Object.fromEntries(Object.entries(plot.bbox).map(([name, value]) => [name, value / devicePixelRatio]));
    const at = (value, scale) => (plot.valToPos(value, scale) + (scale === "x" ? left : top)).toFixed(1);
    const node = (tag, attributes, ...children) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      made.append(...children);
      return made;
    };
    const words = (x, y, text, rest = {}) => node("text", { x, y, fill: faint.color, ...rest }, text);
    const line = (points, rest) => node("polyline", { points: points.map((one) => one.join(",")).join(" "), fill: "none", ...rest });
    const size = { width: plot.width, height: plot.height + HEAD };
    const clip = node("clipPath", { id: "inside" }, node("rect", { x: left, y: top, width, height }));
    const grid = node("g", { stroke: faint.borderTopColor }), lines = node("g", { "clip-path": "url(#inside)" }), body = node("g", { transform: `translate(0 ${HEAD})` }, clip, grid, lines);
    plot.axes.forEach(({ scale, _splits = [], _values = [] }, index) => _splits.forEach((value, i) => {
      const place = Number(at(value, scale)), [low, high] = index ? [top, top + height] : [left, left + width];
      if (place < low - 0.5 || place > high + 0.5 || !_values[i]) return;
      grid.append(index ? line([[left, place], [left + width, place]], {}) : line([[place, top], [place, top + height]], {}));
      body.append(index ? words(left - 6, place + 4, _values[i], { "text-anchor": "end" }) : words(place, top + height + 18, _values[i], { "text-anchor": "middle" }));
    }));
    for (const [each, edge] of chart.bands()) {
      const around = [...edge.map(([x, low]) => [at(x, "x"), at(low, "y")]), ...edge.toReversed().map(([x, , high]) => [at(x, "x"), at(high, "y")])];
      lines.append(line(around, { fill: chart.ink(chart.series.indexOf(each)), "fill-opacity": 0.2 }));
    }
    for (const { x, text } of chart.placed()) lines.append(line([[at(x, "x"), top], [at(x, "x"), top + height]], { stroke: faint.color, "stroke-opacity": 0.6 }), words(Number(at(x, "x")) + 3, top + 10, text, { "font-size": 10 }));
    plot.series.slice(1).forEach(({ show, width: wide, dash = [], _stroke }, index) => {
      if (!show) return;
      const points = plot.data[index + 1].flatMap((y, i) => y == null ? [] : [[at(plot.data[0][i], "x"), at(y, "y")]]);
      lines.append(line(points, { stroke: _stroke ?? chart.ink(index % chart.series.length), "stroke-width": wide, "stroke-dasharray": dash.join(" ") || "none" }));
    });
    const keys = node("text", { x: 8, y: 36 }, ...chart.series.flatMap(({ name, visible }, index) => visible ? [node("tspan", { fill: chart.ink(index) }, `— ${name}   `)] : []));
    const title = words(8, 18, [chart.title, chart.unit].filter(Boolean).join(", "), { fill: style.color, "font-size": 14, "font-weight": 600 });
    const image = node("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size.width} ${size.height}`, ...size, "font-family": "system-ui, sans-serif", "font-size": 12 },
      node("rect", { ...size, fill: style.backgroundColor }), title, keys, body);
    save(new Blob([new XMLSerializer().serializeToString(image)], { type: "image/svg+xml" }), chart, "svg");
  }

  return { picture, drawing };
})();
