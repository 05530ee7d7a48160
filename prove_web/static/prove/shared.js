// prove.live for pages shared by link: no socket, polling while the page is visible.
// Elements need no code: <div data-live-job="..." hx-get="..." hx-trigger="live"> gets the event `live` on changes.
window.prove ??= {};
prove.live = (() => {
  const EVERY = 5000, LATER = 30000;
  const subscriptions = [];
  const badge = document.getElementById("live");
  let wait = null, pending = false, over = false;

  function subscribe({ job, after = 0 }, callback) {
    const subscription = { job, after, callback, summary: null };
    if (job) subscriptions.push(subscription);
    if (document.readyState === "complete") plan(EVERY);
    return () => subscriptions.splice(subscriptions.indexOf(subscription), 1);
  }

  function plan(milliseconds) {
    clearTimeout(wait);
    if (subscriptions.length && !over && !document.hidden) wait = setTimeout(ask, milliseconds);
  }

  // One request per distinct cursor of a job; a full page of events is followed by the next immediately.
  async function ask() {
    if (pending) return;
    pending = true;
    let next = EVERY;
    try {
      for (const key of new Set(subscriptions.map(({ job, after }) => `job=${job}&after=${after}`))) {
        const answer = await fetch(`${document.body.dataset.shared}live/?${key}`, { headers: { Accept: "application/json" } });
        if (answer.status === 404) { over = true; break; }
        if (!answer.ok) { next = LATER; break; }
        const update = await answer.json();
        if (update.more) next = 0;
        for (const each of subscriptions.filter(({ job, after }) => `job=${job}&after=${after}` === key)) deliver(each, update);
      }
      show(over ? "no longer shared" : "live");
    } catch { next = LATER; show("reconnecting"); }
    pending = false;
    plan(next);
  }

  function deliver(subscription, update) {
    const summary = JSON.stringify(update.summary);
    const news = update.cursor > subscription.after || (subscription.summary !== null && summary !== subscription.summary);
    Object.assign(subscription, { after: Math.max(subscription.after, update.cursor), summary });
    if (news) subscription.callback(update);
  }

  function show(state) {
    if (!badge) return;
    badge.hidden = false;
    badge.dataset.state = state === "no longer shared" ? "paused" : state;
    badge.querySelector(".live-text").textContent = state;
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll("[data-live-job]")) {
      const { liveJob: job, liveAfter: after = 0 } = element.dataset;
      subscribe({ job, after: Number(after) }, () => element.dispatchEvent(new CustomEvent("live")));
    }
  });
  window.addEventListener("load", () => plan(EVERY));
  document.addEventListener("visibilitychange", () => plan(0));
  return { subscribe, signedOut: () => false };
})();
