// Heat map: arrow keys move between cells, and the hovered or focused cell is described below.
(() => {
  const cellOf = (target) => target.closest?.(".heat-table [data-description]");

  function tell(event) {
    const line = document.getElementById("heat-description");
    const cell = cellOf(event.target);
    if (line && cell) line.textContent = cell.title;
  }

  function enter(event) {
    const cell = cellOf(event.target);
    if (!cell || cell.tabIndex === 0) return;
    for (const other of document.querySelectorAll(".heat-table a[data-description][tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
  }

  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

  function next(cell, [down, right]) {
    const rows = [...cell.closest("table").querySelectorAll("tbody tr")];
    let row = rows.indexOf(cell.closest("tr"));
    let column = cell.closest("td").cellIndex;
    for (;;) {
      row += down;
      column += right;
      const there = rows[row]?.cells[column];
      if (!there || column < 2) return null;
      const found = there.querySelector("a[data-description]");
      if (found) return found;
    }
  }

  function move(event) {
    const cell = cellOf(event.target);
    const step = STEPS[event.key];
    if (!cell || !step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    next(cell, step)?.focus();
  }

  function begin() {
    const table = document.querySelector(".heat-table");
    if (!table || table.querySelector("a[data-description][tabindex='0']")) return;
    const first = table.querySelector("a[data-description]");
    if (first) first.tabIndex = 0;
  }

  document.addEventListener("mouseover", tell);
  document.addEventListener("focusin", (event) => { tell(event); enter(event); });
  document.addEventListener("keydown", move);
  document.addEventListener("DOMContentLoaded", begin);
  document.addEventListener("htmx:finally:swap", begin);
})();
