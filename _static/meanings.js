// Shows what a term or the symbols of a formula mean: where the pointer rests, where a finger taps,
// where the keyboard is. web/meanings.py writes meanings into titles, which browsers show for a pointer
// only. Here they become one box, which stays while the pointer is on it and goes with Escape.

const DELAY = 250;  // milliseconds to move the pointer from a formula to its box
const ROOM = 8;  // pixels between the box and what it explains, and around it

// What has a meaning, the link to a term or the wrapper of a formula, keeps it where a copy takes it along.
function takeTitles() {
  const elements = [...document.querySelectorAll(".explained[title]")];
  for (const element of elements) {
    element.dataset.meaning = element.title;
    element.removeAttribute("title");
  }
  return elements;
}

function linesOf(element) {
  return element.dataset.meaning.split("\n");
}

// What the keyboard and a screen reader come to.
function stopOf(element) {
  return element.querySelector("math") ?? element;
}

// A stop at each formula would make hundreds. In each section, those that bring another symbol will do.
function letKeyboardReach(elements) {
  const known = new Map();
  for (const element of elements) {
    if (element.matches("a") || element.closest("summary")) continue;
    const lines = linesOf(element);
    const section = element.closest("section");
    const before = known.get(section) ?? known.set(section, new Set()).get(section);
    if (lines.some((line) => !before.has(line))) stopOf(element).setAttribute("tabindex", "0");
    lines.forEach((line) => before.add(line));
  }
}

function makeBox() {
  const box = document.createElement("div");
  box.id = "meaning";
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  return document.querySelector("main").appendChild(box);
}

function fill(box, lines) {
  box.replaceChildren(...lines.map((line) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = line.replace(/_i/g, "ᵢ").replaceAll(" - ", " − ");
    return paragraph;
  }));
}

// Below what it explains, or above where only there is room: never over it, and never beyond the sides.
function place(box, element) {
  const at = (element.querySelector("semantics > *") ?? element).getClientRects()[0];
  const frame = box.offsetParent.getBoundingClientRect();
  const roof = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
  const below = at.bottom + ROOM;
  const above = at.top - box.offsetHeight - ROOM;
  const top = below + box.offsetHeight + ROOM > innerHeight && above >= roof + ROOM ? above : below;
  const centered = at.left + (at.width - box.offsetWidth) / 2;
  const left = Math.min(centered, document.documentElement.clientWidth - box.offsetWidth - ROOM);
  box.style.left = `${Math.max(left, ROOM) - frame.left}px`;
  box.style.top = `${top - frame.top}px`;
}

function watch(box) {
  let shown = null;
  let leaving;

  function show(element) {
    clearTimeout(leaving);
    if (shown === element) return;
    hide();
    shown = element;
    fill(box, linesOf(element));
    box.hidden = false;
    place(box, element);
    stopOf(element).setAttribute("aria-describedby", box.id);
  }

  function hide() {
    clearTimeout(leaving);
    if (shown) stopOf(shown).removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  }

  const explained = (event) => event.target.closest?.(".explained");

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    clearTimeout(leaving);
    const element = explained(event);
    if (element) show(element);
    else if (shown && !box.contains(event.target) && stopOf(shown) !== document.activeElement) {
      leaving = setTimeout(hide, DELAY);
    }
  });
  document.addEventListener("focusin", (event) => {
    const element = explained(event);
    if (element) show(element);
    else hide();
  });
  document.addEventListener("click", (event) => {
    const element = explained(event);
    if (element) show(element);
    else if (!box.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("resize", hide);
}

letKeyboardReach(takeTitles());
watch(makeBox());
