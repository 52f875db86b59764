"use strict";
(() => {
  const form = document.getElementById("filters");
  const rows = Array.from(document.querySelectorAll("tr[id]"), (row) => {
    const group = row.parentElement;
    return {
      row,
      study: row.closest("section").id,
      verdict: row.dataset.verdict,
      theorem: group.dataset.theorem,
      text: `${row.textContent} ${group.rows[0].textContent}`.toLowerCase(),
    };
  });
  const parts = document.querySelectorAll(".study, .study :is(details, table, tbody)");
  const closed = document.querySelectorAll(".study details");
  const left = (part) => part.querySelectorAll("tr[id]:not([hidden])").length;

  const filter = () => {
    const { text, ...fields } = Object.fromEntries(new FormData(form));
    const words = text.toLowerCase().split(/\s+/);
    const chosen = Object.entries(fields).filter(([, value]) => value);
    for (const of of rows) {
      const fits = chosen.every(([name, value]) => of[name] === value);
      of.row.hidden = !fits || !words.every((word) => of.text.includes(word));
    }
    for (const part of parts) part.hidden = !left(part);
    for (const part of closed) {
      part.open = chosen.length > 0 || text !== ""; // what a filter leaves is shown
      part.querySelector(".count").textContent = left(part);
    }
    document.getElementById("shown").value = `${left(document)} of ${rows.length} rows`;
  };

  const remember = () => {
    const state = new URLSearchParams(Array.from(new FormData(form)).filter(([, value]) => value));
    history.replaceState(null, "", `#${state}`);
  };

  const follow = () => {
    const hash = location.hash.slice(1);
    const target = document.getElementById(hash);
    if (hash.includes("=") || target?.closest("[hidden]")) {
      const state = new URLSearchParams(target ? "" : hash);
      for (const field of form.elements) if (field.name) field.value = state.get(field.name) ?? "";
    }
    filter();
    const around = target?.closest("details");
    if (around) around.open = true;
    target?.scrollIntoView();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    filter();
    remember();
  });
  form.addEventListener("reset", () => {
    setTimeout(() => form.dispatchEvent(new Event("input"))); // once the fields are empty
  });
  window.addEventListener("hashchange", follow);
  form.hidden = false;
  follow();
})();
