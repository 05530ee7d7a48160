// The browser tab of a run's page: progress in the title and as a ring in the icon, and a notification at the end on
// request.
// <div data-run-title="Run 7" data-state data-share data-live-job>.
document.addEventListener("DOMContentLoaded", () => {
  const element = document.querySelector("[data-run-title]");
  if (!element) return;
  const { runTitle, name, job, after } = element.dataset, icon = document.querySelector("link[rel=icon]");
  const BEHIND = 20000;
  const INKS = { running: "#0072b2", starting: "#0072b2", done: "#009e73", failed: "#d55e00", stopping: "#e69f00", lost: "#e69f00" };

  function show({ state, state_name, done, total }) {
    const share = state === "done" ? 1 : total ? Math.min(1, done / total) : 0;
    const going = ["starting", "running", "stopping"].includes(state);
    document.title = `${going && total ? `${Math.round(100 * share)} %` : state_name} · ${runTitle} · ${name}`;
    ring(share, INKS[state] ?? "#7a869a");
  }

  // A requested notification is shown when the run ends; the browser asks for permission only at the click.
  const ask = document.querySelector("[data-notify]"), OVER = ["done", "failed", "stopped", "lost"];
  let wanted = false, before = element.dataset.state;

  function offer() {
    if (!ask || !("Notification" in window)) return;
    ask.hidden = OVER.includes(before) || Notification.permission === "denied";
    ask.setAttribute("aria-pressed", String(wanted));
  }

  ask?.addEventListener("click", async () => {
    if (wanted) wanted = false;
    else wanted = (Notification.permission === "granted" ? "granted" : await Notification.requestPermission()) === "granted";
    offer();
  });

  function tell({ state, state_name, error }) {
    if (OVER.includes(state) && !OVER.includes(before) && wanted) {
      const said = new Notification(`${state_name}: ${runTitle}`, { body: [name, error].filter(Boolean).join("\n"), tag: job });
      said.addEventListener("click", () => { focus(); said.close(); });
    }
    before = state;
    offer();
  }

  // A hidden tab has no socket (see live.js), so it polls until the run ends.
  setInterval(async () => {
    if (!document.hidden || !element.dataset.stands || OVER.includes(before)) return;
    const answer = await fetch(element.dataset.stands, { headers: { Accept: "application/json" } }).catch(() => null);
    const summary = answer?.ok && !answer.redirected ? await answer.json() : null;
    if (summary) { show(summary); tell(summary); }
  }, BEHIND);

  function ring(share, ink) {
    const canvas = document.createElement("canvas"), ctx = canvas.getContext("2d");
    canvas.width = canvas.height = 32;
    ctx.lineWidth = 7;
    for (const [upTo, colour] of [[1, "#9aa4b266"], [share, ink]]) {
      ctx.strokeStyle = colour;
      ctx.beginPath();
      ctx.arc(16, 16, 12, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * upTo);
      ctx.stroke();
    }
    ctx.fillStyle = ink;
    ctx.beginPath();
    ctx.arc(16, 16, 4, 0, 2 * Math.PI);
    ctx.fill();
    icon.type = "image/png";
    icon.href = canvas.toDataURL();
  }

  prove.live.subscribe({ job, after: Number(after) }, ({ summary }) => { show(summary); tell(summary); });
  show({ state: element.dataset.state, state_name: element.dataset.stateName, done: Number(element.dataset.share), total: 1 });
  offer();
});
