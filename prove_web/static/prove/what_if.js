// A slider beside each weight: it moves the number, and the number moves it. The number alone is sent.
document.addEventListener("DOMContentLoaded", () => {
  for (const slider of document.querySelectorAll("[data-slides]")) {
    const number = document.getElementById(slider.dataset.slides);
    slider.hidden = false;
    slider.addEventListener("input", () => { number.value = slider.value; });
    number.addEventListener("input", () => { slider.value = number.value || 0; });
  }
});
