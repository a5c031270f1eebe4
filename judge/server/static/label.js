// Keys for the labelling page. Without this script the page is a plain form.
"use strict";
(() => {
  const form = document.querySelector("[data-answer]");
  if (!form) return;
  const steps = [...document.querySelectorAll("[data-step]")];
  const stepField = form.querySelector("#step");
  const note = form.querySelector("#note");
  const said = document.querySelector("[data-said]");
  let current = -1;

  // What a key did, for those who do not see it.
  const say = (text) => { said.textContent = text; };
  const before = document.querySelector(".before, [role=alert]");
  if (before) setTimeout(() => { if (!said.textContent.trim()) say(before.textContent); }, 100);

  const show = (place) => {
    if (!steps.length) return;
    current = Math.max(0, Math.min(place, steps.length - 1));
    steps.forEach((step, k) => step.classList.toggle("current", k === current));
    steps[current].focus({ preventScroll: true });
    steps[current].scrollIntoView({ block: "nearest" });
  };
  const mark = () => steps.forEach((step) => {
    const deciding = step.dataset.step === stepField.value;
    step.classList.toggle("deciding", deciding);
    step.querySelector("[data-decides]").setAttribute("aria-pressed", deciding);
  });
  const decide = (index) => {
    stepField.value = stepField.value === index ? "" : index;
    mark();
    say(stepField.value ? `Step ${index} decides.` : "No step decides.");
  };
  // On a phone the answer stands below the steps: a button leads there, and goes away where the answer is in view.
  const toAnswer = document.querySelector(".to-answer");
  if (toAnswer && "IntersectionObserver" in window) {
    new IntersectionObserver(([entry]) => toAnswer.classList.toggle("here", entry.isIntersecting))
      .observe(form.querySelector("fieldset"));
  }
  const save = () => form.requestSubmit(form.querySelector("[data-save]"));

  document.querySelectorAll("[data-decides]").forEach((button) =>
    button.addEventListener("click", () => decide(button.dataset.decides)));
  stepField.addEventListener("input", mark);
  mark();

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input:not([type=radio]), textarea, select");
    if (event.key === "Escape") { event.target.blur(); return; }
    if (typing) return; // Enter in a field sends the form by itself
    if (event.target.matches("input[type=radio]") && event.key.startsWith("Arrow")) return;
    const choice = form.querySelector(`input[data-key="${CSS.escape(event.key)}"]`);
    const skip = form.querySelector("[data-skip]");
    const undo = document.querySelector("[data-undo]");
    if (choice) {
      choice.checked = true;
      say(`Chosen: ${choice.closest("label").textContent.trim()}`);
    }
    else if (event.key === "u" && undo) undo.click();
    else if (event.key === "j" || event.key === "ArrowDown") show(current + 1);
    else if (event.key === "k" || event.key === "ArrowUp") show(current - 1);
    else if (event.key === "d" && current >= 0) decide(steps[current].dataset.step);
    else if (event.key === "o" && current >= 0) {
      const folded = steps[current].querySelector("details");
      if (folded) folded.open = !folded.open;
    }
    else if (event.key === "t") note.focus();
    else if (event.key === "s" && skip) form.requestSubmit(skip);
    else if (event.key === "Enter" && !event.target.closest("button, a, summary")) save();
    else return;
    event.preventDefault();
  });
})();
