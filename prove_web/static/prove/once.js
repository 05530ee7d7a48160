// A form is sent once: whoever clicks twice, or again before the answer is there, starts nothing twice.
(() => {
  const LONGEST = 5000; // ms; where no page has come till then, it may be sent again
  let sent = new WeakMap();
  // Heard last, at the window: forms that a script sends by itself are left to it.
  window.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method")?.toLowerCase() !== "post") return;
    if (Date.now() - (sent.get(form) ?? 0) < LONGEST) event.preventDefault();
    else sent.set(form, Date.now());
  });
  window.addEventListener("pageshow", () => { sent = new WeakMap(); }); // the way back shows a page as it was left
})();
