// Passkeys: <form data-passkey="create|get" data-options="id of the JSON"> asks the browser for one, and then sends itself.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-passkey] button[type=button]");
  if (!button) return;
  const form = button.form, told = form.querySelector("[data-passkey-told]");
  const given = Object.values(JSON.parse(document.getElementById(form.dataset.options).textContent))[0].publicKey;
  told.hidden = true;
  try {
    const credential = form.dataset.passkey === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(given) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(given) });
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    told.textContent = error.name === "NotAllowedError"
      ? "Nothing was chosen. Try again, or use another way."
      : "This browser knows no passkeys at this address. Use a newer one, and the site by its name rather than by a number, over https.";
    told.hidden = false;
  }
});
