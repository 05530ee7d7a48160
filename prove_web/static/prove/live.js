// prove.live.subscribe({job
// project
// session
// trajectory, after}, callback): one socket per page, resumed from each job's cursor.
// Elements need no code: <div data-live-job="..." hx-get="..." hx-trigger="live"> gets the event `live` on changes.
window.prove ??= {};
prove.live = (() => {
  const LONGEST_WAIT = 15000, QUIET = 1000, NOT_SIGNED_IN = 4401;
  const subscriptions = [];
  const badge = document.getElementById("live");
  let socket = null, tries = 0, retry = null, lastWord = Date.now(), state = "";

  function subscribe({ job, project, session, trajectory, after = 0 }, callback) {
    const subscription = { job, project, session, trajectory, after, callback };
    subscriptions.push(subscription);
    if (socket?.readyState === WebSocket.OPEN) ask(subscription);
    else connect();
    return () => subscriptions.splice(subscriptions.indexOf(subscription), 1);
  }

  function ask({ job, project, session, trajectory, after }) {
    socket.send(JSON.stringify({ subscribe: job ? { job, after } : { session, trajectory, project } })); // only one of them is set
  }

  function connect() {
    if (socket || retry || document.hidden || !subscriptions.length) return;
    show(tries ? "reconnecting" : "connecting");
    const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/live/`);
    socket = mine;
    mine.onopen = () => { tries = 0; heard(); subscriptions.forEach(ask); };
    mine.onmessage = (event) => { heard(); deliver(JSON.parse(event.data)); };
    mine.onclose = ({ code }) => { if (socket === mine) again(code); };
  }

  function again(code) {
    socket = null;
    if (code === NOT_SIGNED_IN && signedOut()) return;
    if (document.hidden) return show("paused");
    show("reconnecting");
    const wait = Math.min(LONGEST_WAIT, 500 * 2 ** tries++) * (0.75 + Math.random() / 2);
    retry = setTimeout(() => { retry = null; connect(); }, wait);
  }

  // Reload to the sign-in page, which returns here; but never after the user has typed something.
  let typed = false;
  document.addEventListener("input", () => { typed = true; });
  function signedOut() {
    if (!typed) location.reload();
    return !typed;
  }

  function hang(next) {
    clearTimeout(retry);
    retry = null;
    const old = socket;
    socket = null;
    if (old?.readyState === WebSocket.CONNECTING) old.onopen = () => old.close(); // closing it earlier would be an error
    else old?.close();
    show(next);
  }

  function deliver(message) {
    if (message.error) return console.warn(message.error);
    for (const subscription of [...subscriptions]) {
      const kind = ["job", "session", "trajectory", "project"].find((one) => one in message);
      if (!kind || String(message[kind]) !== String(subscription[kind])) continue;
      if (message.job && !isNews(message, subscription)) continue;
      subscription.callback(message);
    }
  }

  // The server also reports unchanged states, and may repeat messages after a reconnection.
  function isNews(message, subscription) {
    const summary = JSON.stringify(message.summary);
    const fresh = message.cursor > subscription.after;
    if (!fresh && (message.events.length || summary === subscription.summary)) return false;
    Object.assign(subscription, { summary, after: message.cursor });
    return true;
  }

  function heard() {
    lastWord = Date.now();
    show("live");
  }

  function show(next) {
    if (!badge || !subscriptions.length) return;
    badge.hidden = false;
    if (next !== state) {
      state = badge.dataset.state = next;
      badge.querySelector(".live-text").textContent = next;
    }
    const age = Math.round((Date.now() - lastWord) / 1000);
    badge.querySelector(".live-age").textContent = state === "live" ? "" : `(last update ${age} s ago)`;
  }

  // Changes come in bursts: an element is notified immediately, and then at most once a second.
  function calm(element) {
    let waiting = false, missed = false;
    return function news() {
      if (waiting) { missed = true; return; }
      element.dispatchEvent(new CustomEvent("live"));
      waiting = true;
      setTimeout(() => { waiting = false; if (missed) { missed = false; news(); } }, QUIET);
    };
  }

  function start() {
    for (const element of document.querySelectorAll("[data-live-job], [data-live-project]")) {
      const { liveJob: job, liveProject: project, liveAfter: after = 0 } = element.dataset;
      subscribe({ job, project, after: Number(after) }, calm(element));
    }
  }

  document.addEventListener("visibilitychange", () => { if (document.hidden) hang("paused"); else connect(); });
  window.addEventListener("offline", () => hang("reconnecting"));
  window.addEventListener("online", connect);
  setInterval(() => { if (state && state !== "live") show(state); }, 1000);
  document.addEventListener("DOMContentLoaded", start);
  return { subscribe, signedOut };
})();

// A fragment requested after signing out is the sign-in page: navigate to it instead of showing it inside this page.
document.addEventListener("htmx:before:swap", (event) => {
  const response = event.detail.ctx?.response?.raw;
  if (!response?.redirected || !new URL(response.url).pathname.startsWith("/sign-in/")) return;
  event.preventDefault();
  prove.live.signedOut();
});
