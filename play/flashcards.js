// The trainer of the flashcards' page: it asks for one card at a time, a copy of what stands on the page.
//
// A Leitner scheme. Every card is in a box, a new one in box 1. "I knew it" puts a card into the next box,
// "Again" back into box 1, and then it comes once more after a few others. A card in box n is due again
// when WAITS[n - 1] days have passed, by the calendar: what was known in the evening is due the next
// morning. Due cards come before new ones, the oldest first.
//
// The browser keeps under KEY what an exported file says: {"flashcards": 1, "cards": {name: {box, due}}}.
// Names that this page does not have stay in it, as another version of the course may have them.

const KEY = "layer-normalization-flashcards-1";
const VERSION = 1;
const WAITS = [0, 1, 2, 4, 8, 16, 32, 64];  // days
const OTHERS = 3;  // cards between one that was not known and its return

const UNKEPT = "This browser keeps nothing for this page, or has no room left. Your answers count until you "
  + "leave the page. To keep them, save them to a file.";
const UNREADABLE = "What this browser has kept of your answers cannot be read, and is left as it is. Your answers "
  + "count until you leave the page. To begin anew and keep them, press “Reset” or load a file.";
const NO_FILE_OF_OURS = "This is not a file that was saved here. Nothing has changed.";

// Dates are texts such as 2026-12-01, which sort as they should, on the reader's calendar.

function dayIn(days) {
  const day = new Date();
  day.setDate(day.getDate() + days);
  const pad = (number) => String(number).padStart(2, "0");
  return [day.getFullYear(), pad(day.getMonth() + 1), pad(day.getDate())].join("-");
}

function daysUntil(date) {
  return Math.round((Date.parse(date) - Date.parse(dayIn(0))) / 86_400_000);
}

function inWords(days) {
  return days === 1 ? "tomorrow" : `in ${days} days`;
}

function write(answers) {
  return JSON.stringify({flashcards: VERSION, cards: Object.fromEntries(answers)});
}

// Answers as a Map of names to {box, due}; throws where a text holds anything else.
function read(text) {
  const {flashcards, cards} = JSON.parse(text);
  const isAnswer = ({box, due}) =>
    Number.isInteger(box) && box >= 1 && box <= WAITS.length && /^\d{4}-\d\d-\d\d$/.test(due) && Date.parse(due);
  if (flashcards !== VERSION || !Object.values(cards).every(isAnswer)) throw new Error("not ours");
  return new Map(Object.entries(cards));
}

// What is known of the reader, kept in the browser as long as it lets us, else until the page is left.
const memory = {
  answers: new Map(),
  trouble: "",

  // Take what another tab may have written, but not over answers that could not be written.
  recall() {
    if (this.trouble) return;
    let text;
    try {
      text = localStorage.getItem(KEY);
    } catch {
      this.trouble = UNKEPT;
      return;
    }
    try {
      this.answers = text === null ? new Map() : read(text);
    } catch {
      this.trouble = UNREADABLE;
    }
  },

  keep() {
    if (this.trouble === UNREADABLE) return;
    try {
      localStorage.setItem(KEY, write(this.answers));
      this.trouble = "";
    } catch {
      this.trouble = UNKEPT;
    }
  },

  replace(answers) {
    this.answers = answers;
    this.trouble = "";
    this.keep();
  },

  isNew({name}) {
    return !this.answers.has(name);
  },

  isDue({name}) {
    return this.answers.get(name)?.due <= dayIn(0);
  },

  // Put a card into its next box or back into the first; return in how many days it is due.
  answer({name}, known) {
    this.recall();
    const box = known ? Math.min((this.answers.get(name)?.box ?? 1) + 1, WAITS.length) : 1;
    const days = WAITS[box - 1];
    this.answers.set(name, {box, due: dayIn(days)});
    this.keep();
    return days;
  },
};

function cardsOfPage() {
  return [...document.querySelectorAll("article details[id^='card-']")].map((box) => ({
    name: box.id,
    section: box.closest("section"),
    question: [...box.querySelector("summary").childNodes],
    answer: [...box.children].slice(1),
  }));
}

// Copies without the anchors of what they are made of.
function copies(nodes) {
  const made = document.createDocumentFragment();
  made.append(...nodes.map((node) => node.cloneNode(true)));
  made.querySelectorAll("[id]").forEach((element) => element.removeAttribute("id"));
  return made;
}

function button(words, attributes, press) {
  const element = make("button", {type: "button", ...attributes}, words);
  element.addEventListener("click", press);
  return element;
}

// Ask before something is lost; tell what the reader chose. Escape chooses nothing.
function confirmed(question, yes) {
  return new Promise((resolve) => {
    const words = make("p", {id: "trainer-asks"}, question);
    const close = (value) => () => dialog.close(value);
    const choices = make("p", {class: "choices"}, button("Cancel", {}, close("")), button(yes, {}, close("yes")));
    const dialog = make("dialog", {class: "trainer-dialog", "aria-labelledby": words.id}, words, choices);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

function setUp(desk, cards) {
  const sections = [...new Set(cards.map((card) => card.section))];
  const choice = make("select", {}, make("option", {value: ""}, "all chapters"), ...sections.map((section) =>
    make("option", {value: section.id}, section.querySelector("h2").firstChild.textContent)));
  const question = make("div", {class: "question", id: "trainer-question", tabindex: -1});
  const answer = make("div", {class: "answer", tabindex: -1});
  const face = make("div", {class: "face"}, question, answer);
  const flip = button("Show the answer", {class: "flip", "aria-keyshortcuts": "F"}, turn);
  const again = button("Again", {"aria-keyshortcuts": "A"}, () => rate(false));
  const knew = button("I knew it", {"aria-keyshortcuts": "K"}, () => rate(true));
  const keys = {f: flip, a: again, k: knew};
  const status = make("p", {role: "status"});
  const trouble = make("p", {role: "alert"});
  const file = make("input", {type: "file", accept: ".json", hidden: ""});
  let queue = [];  // the first is the card that is shown

  function chosen() {
    return cards.filter((card) => !choice.value || card.section.id === choice.value);
  }

  function plan() {
    const waited = (card) => -daysUntil(memory.answers.get(card.name).due);
    const due = chosen().filter((card) => memory.isDue(card)).sort((one, other) => waited(other) - waited(one));
    queue = [...due, ...chosen().filter((card) => memory.isNew(card))];
  }

  function show() {
    question.replaceChildren(queue.length ? copies(queue[0].question) : nothingIsDue());
    answer.replaceChildren();
    flip.hidden = !queue.length;
    answer.hidden = again.hidden = knew.hidden = true;
  }

  function nothingIsDue() {
    const next = Math.min(...chosen().map((card) => daysUntil(memory.answers.get(card.name).due)));
    return `Nothing is due here. The next card is due ${inWords(next)}.`;
  }

  // Say how many cards are what, and what has just happened.
  function report(news = "") {
    const all = chosen();
    const due = all.filter((card) => memory.isDue(card)).length;
    const fresh = all.filter((card) => memory.isNew(card)).length;
    status.textContent = `${due} due, ${fresh} new, ${all.length - due - fresh} learned. ${news}`;
    trouble.textContent = memory.trouble;
  }

  function begin(news) {
    plan();
    show();
    report(news);
  }

  // Where the reader goes on by keyboard, and what a screen reader reads.
  function moveOn() {
    (queue.length ? flip : question).focus();
  }

  function turn() {
    answer.replaceChildren(copies(queue[0].answer));
    answer.hidden = again.hidden = knew.hidden = false;
    flip.hidden = true;
    answer.focus();
  }

  function rate(known) {
    const card = queue.shift();
    const days = memory.answer(card, known);
    queue = queue.filter((other) => memory.isDue(other) || memory.isNew(other));  // another tab may have asked it
    if (!known) queue.splice(OTHERS, 0, card);
    show();
    report(`The last card comes back ${known ? inWords(days) : "soon"}.`);
    moveOn();
  }

  // When another tab has answered or a night has passed. The card that is shown stays, if it is still to be asked.
  function replan() {
    const [current] = queue;
    const held = [question, answer, flip, again, knew].includes(document.activeElement);
    plan();
    if (queue.includes(current)) {
      queue = [current, ...queue.filter((card) => card !== current)];
    } else {
      show();
      if (held) moveOn();
    }
    report();
  }

  function save() {
    const address = `data:application/json,${encodeURIComponent(write(memory.answers))}`;
    make("a", {href: address, download: `flashcards-${dayIn(0)}.json`}).click();
  }

  async function load() {
    let answers;
    try {
      answers = read(await file.files[0].text());
    } catch {
      trouble.textContent = NO_FILE_OF_OURS;
      return;
    } finally {
      file.value = "";  // or the same file, mended, would be no change
    }
    const question = "Replace what this browser remembers of your answers by what the file says?";
    if (memory.answers.size && !await confirmed(question, "Replace")) return;
    memory.replace(answers);
    begin("The file is loaded.");
  }

  async function reset() {
    const question = "Forget all your answers? Every card becomes new. To have them back, save them to a file first.";
    if (!await confirmed(question, "Forget all")) return;
    memory.replace(new Map());
    begin("All is forgotten.");
  }

  flip.setAttribute("aria-describedby", question.id);
  desk.append(
    make("p", {}, make("label", {}, "Cards of", choice)),
    trouble,
    face,
    make("p", {class: "choices"}, flip, again, knew),
    status,
    make("p", {class: "tools"}, button("Save to a file", {}, save), button("Load a file", {}, () => file.click()),
      button("Reset", {}, reset), file),
  );
  choice.addEventListener("change", () => begin());
  file.addEventListener("change", load);
  face.addEventListener("click", (event) => {
    // What a tap explains, and what a reader marks, turns no card.
    if (!flip.hidden && !event.target.closest("a, .explained") && getSelection().isCollapsed) turn();
  });
  desk.addEventListener("keydown", (event) => {
    const pressed = keys[event.key.toLowerCase()];
    if (!pressed || pressed.hidden || event.target === choice) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    pressed.click();
  });
  addEventListener("storage", (event) => {
    if (event.key !== KEY && event.key !== null) return;
    memory.recall();
    replan();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) replan();
  });

  memory.recall();
  begin();
}

setUp(document.querySelector(".desk"), cardsOfPage());
