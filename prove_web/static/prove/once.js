// Prevents duplicate form submissions by a double click, or by a second click before the response.
(() => {
  const LONGEST = 5000; // ms; after that the form may be sent again
  let sent = new WeakMap();
  // On window, so that it runs last: forms submitted by a script are left to that script.
  window.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method")?.toLowerCase() !== "post") return;
    if (Date.now() - (sent.get(form) ?? 0) < LONGEST) event.preventDefault();
    else sent.set(form, Date.now());
  });
  window.addEventListener("pageshow", () => { sent = new WeakMap(); }); // the browser restores a page with its old state
})();
