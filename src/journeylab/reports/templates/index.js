"use strict";
(() => {
  const table = document.getElementById("index");
  const rows = Array.from(table.tBodies);
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const numeric = new Set(["index", "rank", "effect", "n"]);
  const filters = ["theorem", "verdict", "kind", "source", "study", "registered"];
  const heads = Array.from(table.tHead.rows[0].cells).filter((head) => head.dataset.key);
  let descending = false;

  const button = (cell, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...cell.childNodes);
    made.addEventListener("click", act);
    cell.append(made);
    return made;
  };

  const compare = (key) => (row, other) => {
    const [a, b] = [row.dataset[key], other.dataset[key]];
    // what has no number stands last, whichever way it is sorted
    if (numeric.has(key) && (a === "" || b === "")) return (a === "") - (b === "");
    const order = numeric.has(key) ? Number(a) - Number(b) : a.localeCompare(b);
    return (descending ? -order : order) || row.dataset.index - other.dataset.index;
  };

  const sort = () => {
    const key = form.elements.sort.value || "index";
    table.append(...rows.sort(compare(key)));
    for (const head of heads) {
      const chosen = head.dataset.key === key;
      head.setAttribute("aria-sort", !chosen ? "none" : descending ? "descending" : "ascending");
    }
  };

  const remember = () => {
    const state = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) state.set(name, value);
    if (descending) state.set("descending", "yes");
    const text = state.toString();
    if (text || location.hash.includes("=")) history.replaceState(null, "", `#${text}`);
  };

  const filter = () => {
    const words = form.elements.text.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const chosen = (name) => ["", row.dataset[name]].includes(form.elements[name].value);
      row.hidden = !filters.every(chosen) || !words.every((word) => texts.get(row).includes(word));
      count += !row.hidden;
    }
    shown.value = `${count} of ${rows.length} claims`;
    for (const pressed of theorems) {
      const own = pressed.parentElement.dataset.theorem === form.elements.theorem.value;
      pressed.setAttribute("aria-pressed", own);
    }
  };

  const apply = () => {
    sort();
    filter();
    remember();
  };

  const readAddress = () => {
    if (location.hash.includes("=")) {
      const state = new URLSearchParams(location.hash.slice(1));
      for (const field of form.elements) if (field.name) field.value = state.get(field.name) ?? "";
      descending = state.has("descending");
    } else if (rows.some((row) => row.hidden && `#${row.id}` === location.hash)) {
      form.reset();
    }
  };

  for (const head of heads) {
    button(head, () => {
      const { key } = head.dataset;
      descending = head.getAttribute("aria-sort") === "ascending";
      form.elements.sort.value = key === "index" ? "" : key;
      apply();
    });
  }
  const cells = Array.from(document.querySelectorAll(".theorems tbody th"));
  const theorems = cells.map((cell) =>
    button(cell, () => {
      const { theorem } = cell.dataset;
      const chosen = form.elements.theorem;
      chosen.value = chosen.value === theorem ? "" : theorem;
      apply();
    }),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target.name === "sort") descending = false;
    apply();
  });
  form.addEventListener("reset", () => {
    descending = false;
    setTimeout(apply); // once the fields are empty
  });
  window.addEventListener("hashchange", () => {
    readAddress();
    setTimeout(apply);
  });
  form.hidden = false;
  readAddress();
  apply();
})();
