// Sliders of the reward weights, synchronised with number fields. Only the numbers are submitted.
document.addEventListener("DOMContentLoaded", () => {
  for (const slider of document.querySelectorAll("[data-slides]")) {
    const number = document.getElementById(slider.dataset.slides);
    slider.hidden = false;
    slider.addEventListener("input", () => { number.value = slider.value; });
    number.addEventListener("input", () => { slider.value = number.value || 0; });
  }
});
