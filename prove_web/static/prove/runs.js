// The curves of a run: a snapshot, then what the socket tells after its cursor.
document.addEventListener("DOMContentLoaded", async () => {
  const section = document.querySelector("[data-run]");
  if (!section) return;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const answer = await fetch(section.dataset.run, { headers: { Accept: "application/json" } });
  if (!answer.ok) return failed(section);
  const snapshot = await answer.json();
  const drawn = charts.map((chart, index) => ({
    ...chart,
    chart: prove.chart(section.querySelector(`[data-curve="${index}"]`), {
      title: chart.title,
      unit: chart.unit,
      help: chart.help,
      smooth: chart.source === "points",
      series: chart.lines.map(([name, metric]) => ({ name, points: curve(snapshot[chart.source], metric) })),
    }),
  }));
  prove.live.subscribe({ job: snapshot.job, after: snapshot.cursor }, ({ events = [] }) => events.forEach((event) => follow(drawn, event)));
});

function curve(rows, metric) {
  return rows.filter((row) => row[metric] != null).map((row) => [row.step, row[metric]]);
}

const SOURCE = { step: "points", held_out: "held_out" };

function follow(drawn, { kind, data }) {
  for (const { chart, source, lines } of drawn) {
    if (kind === "rewound") chart.truncate(data.step);
    if (SOURCE[kind] !== source) continue;
    for (const [name, metric] of lines) if (data[metric] != null) chart.add(name, data.step, data[metric]);
  }
}

function failed(section) {
  for (const body of section.querySelectorAll("[data-curve]")) body.textContent = "The curves could not be read. Reload the page to try again.";
}
