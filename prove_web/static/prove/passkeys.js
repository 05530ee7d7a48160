// Passkeys: <form data-passkey="create|get" data-options="id of the JSON"> requests a passkey from the browser and then
// submits itself.
// With data-options-at="address" the options are fetched when the button is pressed.
const passkeyOptions = async ({ options, optionsAt }) => {
  const loaded = optionsAt
    ? await (await fetch(optionsAt, { headers: { Accept: "application/json" } })).json()
    : JSON.parse(document.getElementById(options).textContent);
  return Object.values(loaded)[0].publicKey;
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-passkey] button[type=button]");
  if (!button) return;
  const form = button.form, alert = form.querySelector("[data-passkey-error]");
  alert.hidden = true;
  try {
    const given = await passkeyOptions(form.dataset);
    if (form.elements.passwordless?.checked) {
      const selection = { residentKey: "required", requireResidentKey: true, userVerification: "required" };
      given.authenticatorSelection = { ...given.authenticatorSelection, ...selection };
    }
    const credential = form.dataset.passkey === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(given) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(given) });
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    alert.textContent = error.name === "NotAllowedError"
      ? "No passkey was selected. Try again, or use another method."
      : "This browser does not support passkeys at this address. Use a current browser and open the site by host name over HTTPS, not by IP address.";
    alert.hidden = false;
  }
});
