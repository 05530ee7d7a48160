// Uploads a file in chunks, resuming after the last one: a lost connection costs one chunk.
(() => {
  "use strict";
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const part = name => form.querySelector(`[data-upload-${name}]`);
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const PIECE = Number(form.dataset.piece), MOST = Number(form.dataset.most), TRIES = 6;
  const wait = seconds => new Promise(done => setTimeout(done, 1000 * seconds));

  const refuse = text => {
    part("said").textContent = text;
    part("error").hidden = false;
    part("progress").hidden = true;
    form.querySelector("[type=submit]").disabled = false;
  };
  const show = (sent, size, note = "") => {
    const share = Math.floor((100 * sent) / size);
    part("progress").hidden = false;
    form.querySelector("progress").value = share;
    part("status").textContent = `${share} % uploaded${note}`;
  };
  const post = (url, body, type) => fetch(url, {
    method: "POST", body, headers: { "X-CSRFToken": token, "Content-Type": type, Accept: "application/json" },
  });
  const outcome = async answer => {
    try {
      return await answer.json();
    } catch {
      if (answer.redirected) return { error: "You are signed out. Sign in in another tab, then upload the file again." };
      return { error: answer.status === 404 ? "This upload no longer exists. Choose the file again." : `The server returned ${answer.status}. Try again.` };
    }
  };

  const pieces = async (file, url) => {
    let at = 0, failed = 0;
    while (at < file.size) {
      show(at, file.size, failed ? ", waiting for the connection" : "");
      try {
        const answer = await post(`${url}?at=${at}`, file.slice(at, at + PIECE), "application/octet-stream");
        const said = await outcome(answer);
        if (said.received === undefined || (!answer.ok && said.received === at)) throw new Refused(said.error);
        at = said.received;
        failed = 0;
      } catch (error) {
        if (error instanceof Refused || ++failed > TRIES) throw error;
        await wait(2 ** failed / 2);
      }
    }
    show(file.size, file.size);
  };
  class Refused extends Error {}

  form.addEventListener("submit", async event => {
    const file = form.querySelector("[type=file]").files[0];
    if (!file) return;
    event.preventDefault();
    part("error").hidden = true;
    if (file.size > MOST) return refuse(`The file has ${file.size.toLocaleString("en")} bytes; the limit is ${MOST.toLocaleString("en")}. Nothing was uploaded.`);
    form.querySelector("[type=submit]").disabled = true;
    try {
      const announced = new URLSearchParams({ name: file.name, size: file.size });
      const begun = await post(form.action || location.href, announced, "application/x-www-form-urlencoded");
      const said = await outcome(begun);
      if (!said.piece) return refuse(said.error);
      await pieces(file, said.piece);
      location.assign(said.then);
    } catch (error) {
      refuse(error instanceof Refused ? error.message : "The connection was lost. Nothing was imported; upload the file again.");
    }
  });
})();
