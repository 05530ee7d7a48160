// The bell refreshes its count periodically and when the tab becomes visible, never while it is hidden.
(() => {
  const EVERY = 30000;
  const bell = document.getElementById("bell");
  if (!bell) return;
  let checked = Date.now();

  async function ask() {
    if (document.hidden || Date.now() - checked < EVERY / 2) return;
    checked = Date.now();
    const answer = await fetch(bell.dataset.bell, { redirect: "manual" }).catch(() => null);
    if (answer?.ok && !bell.contains(document.activeElement)) bell.innerHTML = await answer.text();
  }

  setInterval(ask, EVERY);
  document.addEventListener("visibilitychange", ask);
})();
