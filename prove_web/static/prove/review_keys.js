// Keyboard shortcuts of a review, inactive while typing.
(() => {
  const form = document.getElementById("review-form"), dialog = document.getElementById("keys");
  if (!form) return;
  const VERDICTS = { a: "accept", r: "reject", f: "fix" };
  const PRESSED = { s: "s", u: "u", n: "n", p: "p" };
  const questions = [...form.querySelectorAll("[data-question]")];
  const editable = !form.querySelector(".review-all").disabled;
  const typing = (one) => one.closest?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");
  const choosing = (one) => one.matches?.("input[type=radio], input[type=checkbox]");
  let at = 0;

  document.addEventListener("focusin", ({ target }) => {
    const place = questions.indexOf(target.closest?.("[data-question]"));
    if (place >= 0) at = place;
    light(target.closest?.("[data-about]"));
  });

  // Scroll to the turn or call that a question is about, and mark it.
  function light(question) {
    for (const one of document.querySelectorAll(".at-hand")) one.classList.remove("at-hand");
    const card = question && document.getElementById(question.dataset.about);
    card?.classList.add("at-hand");
    card?.scrollIntoView({ block: "nearest" });
  }

  function go(place) {
    at = Math.max(0, Math.min(questions.length - 1, place));
    questions[at]?.focus({ preventScroll: true });
    questions[at]?.scrollIntoView({ block: "nearest" });
  }

  function choose(digit) {
    const question = questions[at], kind = question?.dataset.question;
    if (!question || !editable || kind === "text") return;
    const boxes = [...question.querySelectorAll("input")], choices = boxes.filter((box) => box.value);
    if (digit > choices.length) return;
    if (digit === 0) for (const box of boxes) { if (box.value ? box.checked && kind === "tags" : true) pick(box); }
    else pick(choices[digit - 1]);
    if (kind !== "tags" && at < questions.length - 1) go(at + 1);
    else question.focus({ preventScroll: true });
  }

  function pick(box) { box.click(); }

  function decide(verdict) {
    if (!editable) return;
    at = 0;
    form.querySelector(`[name="a-verdict"][value="${verdict}"]`)?.click();
    go(1);
  }

  function press(key) { document.querySelector(`[data-key="${key}"]:not([disabled])`)?.click(); }

  function correct() {
    const about = questions[at]?.dataset.about;
    const box = form.querySelector(`.corrected${about ? `[data-about="${about}"]` : ""}`) ?? form.querySelector(".corrected");
    if (!box || !editable) return;
    box.open = true;
    box.querySelector("textarea").focus();
  }

  function leave(field) {
    field.blur();
    go(at);
  }

  const ACTS = {
    j: () => go(at + 1), k: () => go(at - 1), ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1),
    " ": ({ shiftKey }) => scrollBy({ top: (shiftKey ? -0.8 : 0.8) * innerHeight }),
    c: () => form.elements.comment.focus(), e: correct, "?": () => dialog.showModal(),
    Enter: () => questions[at]?.querySelector("textarea, input:checked, input")?.focus(),
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || document.querySelector("dialog[open], .dropdown-menu.show")) return;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!event.repeat) press("complete");
      return;
    }
    if (key === "Escape" && typing(target)) return leave(target);
    if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
    if (key.startsWith("Arrow") && choosing(target)) return; // the browser's own selection keys
    if (["Enter", " "].includes(key) && target !== questions[at] && target !== document.body) return;
    const act = actOf(key);
    if (!act || (event.repeat && !/^(j|k|Arrow| )/.test(key))) return;
    event.preventDefault();
    act(event);
  });

  function actOf(key) {
    if (/^\d$/.test(key)) return () => choose(Number(key));
    if (VERDICTS[key]) return () => decide(VERDICTS[key]);
    if (PRESSED[key]) return () => press(PRESSED[key]);
    return ACTS[key];
  }

  const opens = document.querySelector("[data-open=keys]");
  opens.hidden = false;
  opens.addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("close", () => go(at));
  if (editable && !document.getElementById("refused") && !location.hash) questions[0]?.focus({ preventScroll: true });
})();
