// Makes an answer box of each question: its words, its choices or a place to type, and, when an answer
// is checked, the explanation that the page has for it. Nothing is scored, and nothing is kept.

const FAR = 0;
const NEAR = 1;  // the last digit is off
const ROUGH = 2;  // right, to fewer digits than one should give
const SAME = 3;
const RELATIVE = 1e-9;  // what arithmetic may add
const COMMA = "Write decimals after a point, as in 2.5. A comma stands between two numbers.";

const several = (count) => (count === 1 ? "1 number" : `${count} numbers`);

// A number as it was typed: its value, and one unit of its last digit. A fraction has all digits.
function readTyped(word) {
  if (word.includes("/")) {
    const [top, bottom, ...more] = word.split("/").map(readNumber);
    if (more.length) throw new Error(`“${word}” has more than one fraction line.`);
    if (bottom === 0) throw new Error("Nothing can be divided by 0.");
    return {value: top / bottom, unit: 0};
  }
  const value = readNumber(word);
  const [digits, power = "0"] = word.toLowerCase().split("e");
  return {value, unit: 10 ** (Number(power) - (digits.split(".")[1] ?? "").length)};
}

// The numbers of a typed answer, which is to have so many; throws an Error whose message is for the reader.
function readAnswer(text, count) {
  let plain = text.replace(/[−–]/g, "-").replace(/\s*\/\s*/g, "/").replace(/^\s*[([]|[)\]]\s*$/g, "");
  if (count === 1) plain = plain.replace(/(\d),(?=\d{3}(\D|$))/g, "$1");
  const words = plain.split(/[\s,;]+/).filter(Boolean);
  const numbers = (words.length ? words : [""]).map(readTyped);
  if (numbers.length === 2 * count && text.includes(",")) throw new Error(COMMA);
  if (numbers.length !== count) {
    throw new Error(`The answer has ${several(count)}, and this has ${several(numbers.length)}.`);
  }
  return numbers;
}

// How near a row of typed numbers comes to a stated one. Three digits of its largest number will do.
function nearness(typed, {numbers, rounded}) {
  const largest = Math.max(...numbers.map(({value}) => Math.abs(value)));
  const finest = Math.min(...numbers.map(({unit}) => unit));
  const slack = RELATIVE * largest + (rounded ? finest / 2 : 0);
  const enough = Math.max(finest, largest / 100);

  function ofOne({value, unit}, place) {
    const error = Math.abs(value - numbers[place].value);
    if (error <= slack) return SAME;
    if (unit > largest / 10) return FAR;
    if (error <= unit * (0.5 + RELATIVE)) return unit <= enough ? SAME : ROUGH;
    return rounded && unit <= enough && error <= unit ? NEAR : FAR;
  }

  return Math.min(...typed.map(ofOne));
}

// What to say to a typed answer: a verdict, and the answer whose explanation belongs to it, if any does.
function judgeTyped(text, answers) {
  const right = answers.find((answer) => answer.right);
  const others = answers.filter((answer) => answer.numbers && !answer.right);
  const typed = readAnswer(text, right.numbers.length);
  const is = (answer, least) => nearness(typed, answer) >= least;
  if (is(right, SAME)) return {verdict: "Right.", answer: right};
  const known = others.find((answer) => is(answer, SAME));
  if (known) return {verdict: "Not yet.", answer: known};
  if (typed.length === 1 && text.includes(",")) throw new Error(COMMA);
  if (is(right, ROUGH)) return {verdict: "Right as far as it goes.", more: "Give at least three digits."};
  const nearly = others.find((answer) => is(answer, ROUGH));
  if (nearly) return {verdict: "Not yet.", answer: nearly};
  if (is(right, NEAR)) {
    return {verdict: "Close.", more: "A last digit is off. Keep all digits on the way, and round once, at the end."};
  }
  return {verdict: "Not yet.", answer: answers.at(-1)};
}

function judgeChoice(chosen, answers) {
  if (!chosen) throw new Error("Choose one of the answers first.");
  const answer = answers[chosen.value];
  return {verdict: answer.right ? "Right." : "Not this one.", answer};
}

function readStated(item) {
  const numbers = item.dataset.numbers?.split(" ").map(readTyped);
  const explanation = [...item.children].slice(1);
  return {numbers, explanation, right: "right" in item.dataset, rounded: "rounded" in item.dataset};
}

// A copy shows no meanings of its own, and is no stop for the keyboard but at links.
function copied(element) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll(".explained").forEach((explained) => explained.classList.remove("explained"));
  copy.querySelectorAll("math[tabindex]").forEach((formula) => formula.removeAttribute("tabindex"));
  return copy;
}

// A verdict stands at the beginning of what explains it.
function say(place, verdict, [first, ...rest]) {
  first.prepend(make("strong", {}, verdict), " ");
  place.replaceChildren(first, ...rest);
}

function placeToType(question, asked, described) {
  const input = make("input", {
    type: "text", id: `${question.id}-input`, "aria-describedby": described,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false",
  });
  asked.replaceChildren(make("label", {for: input.id}, ...asked.childNodes));
  return input;
}

function makeChoices(question, asked, list, described) {
  [...list.children].forEach((item, place) => {
    const input = make("input", {type: "radio", name: question.id, value: place});
    item.replaceChildren(make("label", {}, input, ...item.childNodes));
  });
  const legend = make("legend", {}, ...asked.childNodes);
  const group = make("fieldset", {"aria-describedby": described}, legend);
  asked.replaceWith(group);
  group.append(list);
  return group;
}

function makeBox(question) {
  const asked = question.querySelector(".asked");
  const list = question.querySelector(".choices");
  const answers = [...question.querySelectorAll(".answers > li")].map(readStated);
  const feedback = make("div", {id: `${question.id}-feedback`, class: "feedback", role: "status"});
  const check = make("button", {type: "submit"}, "Check");
  const form = make("form", {novalidate: ""});
  question.prepend(form);
  let input;
  if (list) {
    form.append(makeChoices(question, form.appendChild(asked), list, feedback.id));
  } else {
    input = placeToType(question, asked, feedback.id);
    form.append(asked);
  }
  form.append(make("div", {class: "actions"}, ...(list ? [check] : [input, check])), feedback);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    input?.removeAttribute("aria-invalid");
    try {
      const {verdict, answer, more} = list
        ? judgeChoice(form.querySelector(":checked"), answers)
        : judgeTyped(input.value, answers);
      say(feedback, verdict, more ? [make("p", {}, more)] : answer.explanation.map(copied));
    } catch (error) {
      input?.setAttribute("aria-invalid", "true");
      feedback.replaceChildren(make("p", {}, error.message));
      (input ?? form.querySelector("input")).focus();
    }
  });
  question.classList.add("ready");
}

document.querySelectorAll(".question").forEach(makeBox);
