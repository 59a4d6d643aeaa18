// The row explorer. A reader drags or types a row and sets eps, gamma and beta. The four moves are drawn
// and written below each other, and so is what would come out without each of them. The state is in the
// address. Examples come from the table on the page, see row_explorer.py.

const MOST = 8;  // features
const FAR = 10;  // a normalized value beyond it is one that no row of eight could have
const DEFAULTS = {eps: DEFAULT_EPS, gamma: 1, beta: 0};
const EPS_STEPS = [0];  // what the slider of eps can say: off, then 1, 2 and 5 in each decade
for (let power = -12; power <= 2; power += 1) EPS_STEPS.push(...[1, 2, 5].map((digit) => Number(`${digit}e${power}`)));

const BASE = 26;  // pixels from the lower edge of a drawing to its number line
const REACH = 24;  // pixels: how near to a dot a finger has to be
const ROW_DOT = {radius: 9, apart: 25};
const DOT = {radius: 6, apart: 13};
const PAUSE = 400;  // milliseconds without a change before the address and a screen reader learn of it

const LETTERS = {"μ": "mean", "σ": "spread", "x̂": "normalized", x: "raw", y: "output"};

// Text with its letters in their colors.
function colored(text) {
  return text.split(/(x̂|[μσxy](?![a-z]))(?<![a-z][xy])/).map((part) => {
    return LETTERS[part] ? make("span", {class: `color-${LETTERS[part]}`}, part) : part;
  });
}

// A state's numbers in full, as they are typed.
function inFull(value) {
  return String(value).replace("-", "−").replace("e−", "e-").replace("e+", "e");
}

function typed(row) {
  return row.map(inFull).join(", ");
}

function addressOf(state) {
  const settings = Object.keys(DEFAULTS).filter((name) => state[name] !== DEFAULTS[name]);
  return `?row=${state.row.join(",")}${settings.map((name) => `&${name}=${state[name]}`).join("")}`;
}

// The state that an address names, or null; throws as readRow does.
function stateOf(address) {
  const fields = new URLSearchParams(address);
  if (!fields.has("row")) return null;
  const state = {...DEFAULTS, row: readRow(fields.get("row"), MOST)};
  for (const name of Object.keys(DEFAULTS)) if (fields.has(name)) state[name] = readNumber(fields.get(name));
  if (state.eps < 0) throw new Error("eps cannot be below 0.");
  return state;
}

// A number line's ends. They stay where they were while that serves, so that dots move and not the line.
function fit(values, before) {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const high = Math.max(0, ...finite);
  const half = high / 2 - low / 2 || 0.5;  // of the width, which may be too large to write
  const kept = before && low >= before.low && high <= before.high && half > 0.4 * before.half;
  if (kept) return before;
  const end = (value) => Math.max(-Number.MAX_VALUE, Math.min(value, Number.MAX_VALUE));
  const line = {low: end(low - 0.3 * half), high: end(high + 0.3 * half)};
  return {...line, half: line.high / 2 - line.low / 2};
}

// The step of 1, 2 or 5 times a power of ten that is nearest below a size.
function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [5, 2, 1].map((digit) => digit * power).find((step) => step <= size) ?? power;
}

function rounded(value, step) {
  return Number((Math.round(value / step) * step).toPrecision(12)) + 0;
}

// How high each dot stands on others that are as far right as it is.
function levels(places, apart) {
  const found = [];
  for (const place of places) {
    const taken = found.filter((other) => Math.abs(other.place - place) < apart).map((other) => other.level);
    let level = 0;
    while (taken.includes(level)) level += 1;
    found.push({place, level});
  }
  return found.map((other) => other.level);
}

// A number line with the dots of a row, its mean and its std.
class NumberLine {
  constructor(color, dot, attributes) {
    this.color = color;
    this.dot = dot;
    this.marks = make("svg:g");
    this.dots = make("svg:g", {style: `fill: var(--${color})`});
    this.svg = make("svg:svg", attributes, this.marks, this.dots);
    this.width = 0;
  }

  place(value) {
    return ((value / 2 - this.ends.low / 2) / this.ends.half) * this.width;
  }

  valueAt(place) {
    return (this.ends.low / 2 + (place / this.width) * this.ends.half) * 2;
  }

  draw(values, ends, mean, std) {
    this.ends = ends;
    const height = BASE + 2 * this.dot.radius + 6 + (values.length - 1) * this.dot.apart;
    this.svg.setAttribute("height", height);
    this.marks.replaceChildren(...this.drawMarks(height - BASE, mean, std));
    const finite = values.every(Number.isFinite);
    const places = finite ? values.map((value) => this.place(value)) : [];
    while (this.dots.childElementCount < places.length) this.dots.append(this.newDot(this.dots.childElementCount));
    while (this.dots.childElementCount > places.length) this.dots.lastChild.remove();
    this.centers = levels(places, this.dot.apart).map((level, i) => {
      return {x: places[i], y: height - BASE - this.dot.radius - 4 - level * this.dot.apart};
    });
    this.centers.forEach(({x, y}, i) => this.dots.children[i].setAttribute("transform", `translate(${x} ${y})`));
  }

  newDot() {
    return make("svg:circle", {r: this.dot.radius});
  }

  drawMarks(base, mean, std) {
    const line = (name, x1, y1, x2, y2) => make("svg:line", {class: name, x1, y1, x2, y2});
    const marks = [line("axis", 0, base, this.width, base), line("zero", this.place(0), 0, this.place(0), base)];
    const step = roundStep(this.ends.half / 2) || Number.MIN_VALUE;
    for (let tick = Math.ceil(this.ends.low / step) * step; tick <= this.ends.high; tick += step) {
      const at = this.place(tick);
      marks.push(line("axis", at, base, at, base + 5));
      if (at < 14 || at > this.width - 14) continue;
      const value = Math.abs(tick) < step / 2 ? 0 : tick;
      marks.push(make("svg:text", {x: at, y: base + 18}, writeNumber(value)));
    }
    if (Number.isFinite(mean)) {
      const [left, right] = [mean - std, mean + std].map((value) => this.place(value));
      if (Number.isFinite(left + right)) marks.push(line("spread", left, base, right, base));
      marks.push(line("mean", this.place(mean), 2, this.place(mean), base + 5));
    }
    return marks;
  }
}

// The line whose dots the reader moves: each is a slider.
class RowLine extends NumberLine {
  constructor(move) {
    const label = "The row as dots on a number line. Drag one, or use the arrow keys.";
    super("raw", ROW_DOT, {class: "row-line", role: "group", "aria-label": label});
    this.move = move;
    this.dragged = null;
    this.svg.addEventListener("pointerdown", (event) => this.take(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => this.letGo());
    this.dots.addEventListener("keydown", (event) => this.step(event));
  }

  get moveBy() {
    return roundStep(this.ends.half / 25);
  }

  newDot(i) {
    const dot = make("svg:g", {class: "dot", role: "slider", tabindex: 0, "aria-label": `feature ${i + 1}`});
    dot.append(super.newDot(), make("svg:text", {y: 4}, String(i + 1)));
    return dot;
  }

  draw(values, ends, mean, std) {
    super.draw(values, ends, mean, std);
    this.values = values;
    values.forEach((value, i) => {
      const dot = this.dots.children[i];
      dot.setAttribute("aria-valuenow", value);
      dot.setAttribute("aria-valuetext", writeNumber(value, 12));
      dot.setAttribute("aria-valuemin", Math.min(ends.low, value));
      dot.setAttribute("aria-valuemax", Math.max(ends.high, value));
    });
  }

  take(event) {
    const frame = this.svg.getBoundingClientRect();
    const [left, top] = [event.clientX - frame.left, event.clientY - frame.top];
    const distances = this.centers.map(({x, y}) => Math.hypot(x - left, y - top));
    const nearest = distances.indexOf(Math.min(...distances));
    if (!(distances[nearest] <= REACH) || event.button) return;
    event.preventDefault();
    this.svg.setPointerCapture(event.pointerId);
    this.dragged = nearest;
    this.dots.children[nearest].focus({preventScroll: true});
  }

  drag(event) {
    if (this.dragged === null) return;
    const place = event.clientX - this.svg.getBoundingClientRect().left;
    const value = rounded(this.valueAt(Math.max(0, Math.min(place, this.width))), this.moveBy);
    this.move(this.dragged, value, {dragging: true});
  }

  letGo() {
    if (this.dragged === null) return;
    const dragged = this.dragged;
    this.dragged = null;
    this.move(dragged, this.values[dragged]);
  }

  step(event) {
    const i = [...this.dots.children].indexOf(event.target.closest(".dot"));
    const steps = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
    const by = event.shiftKey ? this.moveBy / 10 : this.moveBy;
    if (steps) this.move(i, rounded(this.values[i] + steps * by, by));
    else if (event.key === "Home") this.move(i, rounded(this.ends.low, by));
    else if (event.key === "End") this.move(i, rounded(this.ends.high, by));
    else return;
    event.preventDefault();
  }
}

// `without` is what the normalized row would be if the move were left out.
const MOVES = [
  {
    name: "center",
    color: "raw",
    rule: (state, steps) => `subtract the mean, μ = ${writeNumber(steps.mean)}`,
    symbol: "x − μ",
    values: (steps) => steps.deviations,
    without: (steps, row) => row.map((value) => value / steps.guardedStd),
  },
  {
    name: "squeeze",
    color: "normalized",
    rule: (state, steps) => `divide by the std, σ = ${writeNumber(steps.std)}`,
    symbol: "(x − μ) / σ",
    values: (steps) => steps.squeezed,
    without: (steps) => steps.deviations,
  },
  {
    name: "guard",
    color: "normalized",
    rule: (state, steps) => `divide by √(σ² + ε) = ${writeNumber(steps.guardedStd)} instead`,
    symbol: "x̂",
    values: (steps) => steps.normalized,
    without: (steps) => steps.squeezed,
    sliders: ["eps"],
  },
  {
    name: "restyle",
    color: "output",
    rule: (state) => `times γ = ${writeNumber(state.gamma)}, plus β = ${writeNumber(state.beta)}`,
    symbol: "y",
    values: (steps) => steps.output,
    without: (steps) => steps.normalized,
    sliders: ["gamma", "beta"],
  },
];

const SLIDERS = {
  eps: {
    label: "ε (eps)", min: 0, max: EPS_STEPS.length - 1, step: 1,
    toPosition: (eps) => EPS_STEPS.findLastIndex((step) => step <= eps),
    toValue: (position) => EPS_STEPS[position],
    write: (eps) => (eps === 0 ? "0, no guard" : writeNumber(eps)),
  },
  gamma: {label: "γ (gamma)", min: -5, max: 5, step: 0.1, toPosition: Number, toValue: Number, write: writeNumber},
  beta: {label: "β (beta)", min: -5, max: 5, step: 0.1, toPosition: Number, toValue: Number, write: writeNumber},
};

class Explorer {
  constructor(home) {
    this.home = home;
    this.examples = [...home.querySelectorAll("tbody tr")].map((line) => {
      const link = line.querySelector("a.explore");
      const state = stateOf(new URL(link.href).search);
      return {label: `${line.cells[0].textContent} ${link.textContent}`, state, address: addressOf(state)};
    });
    this.build();
    this.measure();
    this.start();
    new ResizeObserver(() => {
      this.measure();
      this.draw();
    }).observe(this.stage);
  }

  // Widths are asked for when they may have changed: asking in each change would have the page laid out each time.
  measure() {
    for (const line of [this.line, ...this.panels.map((panel) => panel.line)]) line.width = line.svg.clientWidth;
  }

  build() {
    this.choice = make("select", {id: "explorer-example"}, make("option", {value: ""}, "your own row"));
    this.choice.append(...this.examples.map((example, i) => make("option", {value: i}, example.label)));
    this.field = make("input", {
      id: "explorer-row", type: "text", autocomplete: "off", spellcheck: "false", inputmode: "text",
      "aria-describedby": "explorer-complaint",
    });
    this.complaint = make("p", {id: "explorer-complaint", class: "complaint", role: "alert"});
    this.more = make("button", {type: "button", "aria-label": "Add one feature"}, "Add one");
    this.less = make("button", {type: "button", "aria-label": "Remove one feature"}, "Remove one");
    this.again = make("button", {type: "button"}, "Start again");
    this.link = make("a", {}, "Link to this row");
    this.line = new RowLine((i, value, how) => this.change({row: this.state.row.with(i, value)}, how));
    this.statistics = make("p", {class: "statistics"});
    this.verdict = make("p", {class: "verdict"});
    this.heard = make("p", {class: "visually-hidden", role: "status"});
    this.panels = MOVES.map((move) => this.buildPanel(move));
    this.stage = make(
      "div", {class: "stage", role: "group", "aria-label": "Row explorer"},
      make("p", {class: "field"}, make("label", {for: this.choice.id}, "Take an example"), this.choice),
      make("p", {class: "field"}, make("label", {for: this.field.id}, "or type one to eight numbers"), this.field),
      this.complaint,
      make("div", {class: "panel whole"}, this.line.svg, this.statistics),
      make("p", {class: "buttons"}, this.more, this.less, this.again),
      this.verdict,
      make("div", {class: "moves"}, ...this.panels.map((panel) => panel.element)),
      make("p", {class: "share"}, this.link),
      this.heard,
    );
    this.home.prepend(this.stage);
    this.listen();
  }

  buildPanel(move) {
    const title = make("p", {class: "move"});
    const line = new NumberLine(move.color, DOT, {"aria-hidden": "true"});
    const values = make("p", {class: `values color-${move.color}`});
    const lost = make("p", {class: "lost"});
    const sliders = (move.sliders ?? []).map((name) => this.buildSlider(name));
    const element = make(
      "div", {class: "panel", role: "group", "aria-label": move.name},
      title, line.svg, values, lost, ...sliders.map((slider) => slider.element),
    );
    return {move, title, line, values, lost, sliders, element};
  }

  buildSlider(name) {
    const {label, min, max, step, toValue} = SLIDERS[name];
    const input = make("input", {type: "range", min, max, step, id: `explorer-${name}`});
    const shown = make("output", {for: input.id});
    input.addEventListener("input", () => this.change({[name]: toValue(Number(input.value))}));
    const element = make("p", {class: "slider"}, make("label", {for: input.id}, label), input, shown);
    return {name, input, shown, element};
  }

  listen() {
    this.choice.addEventListener("change", () => {
      if (this.choice.value) this.take(this.examples[this.choice.value].state);
    });
    this.field.addEventListener("input", () => this.readField());
    this.field.addEventListener("change", () => this.readField({complain: true}));
    this.more.addEventListener("click", () => this.change({row: [...this.state.row, 0]}));
    this.less.addEventListener("click", () => this.change({row: this.state.row.slice(0, -1)}));
    this.again.addEventListener("click", () => this.take(this.examples[0].state));
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a.explore");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.take(stateOf(new URL(link.href).search));
      this.stage.scrollIntoView();
    });
  }

  // What the address says, or the first example, and why if the address says what no row is.
  start() {
    const first = this.examples[0].state;
    try {
      this.take(stateOf(location.search) ?? first);
    } catch (error) {
      this.take(first);
      this.complaint.textContent = `The address of this page names no row. ${error.message} Here is the first example.`;
    }
    this.told = addressOf(this.state);
  }

  take(state) {
    this.ends = {};
    this.change(state);
  }

  // While someone types, half a number is no mistake: the row stays, and only a finished one is complained of.
  readField({complain = false} = {}) {
    clearTimeout(this.typing);
    try {
      this.change({row: readRow(this.field.value, MOST)}, {typing: true});
    } catch (error) {
      if (!complain) {
        this.typing = setTimeout(() => this.readField({complain: true}), 2 * PAUSE);
        return;
      }
      this.field.setAttribute("aria-invalid", "true");
      this.complaint.textContent = `${error.message} The row is still (${typed(this.state.row)}).`;
    }
  }

  change(parts, {dragging = false, typing = false} = {}) {
    this.state = {...this.state, ...parts};
    this.field.removeAttribute("aria-invalid");
    this.complaint.textContent = "";
    if (!typing) this.field.value = typed(this.state.row);
    this.draw(dragging);
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.tell(), PAUSE);
  }

  // A pause after the last change: browsers refuse an address that changes all the time.
  tell() {
    const address = addressOf(this.state);
    if (address === this.told) return;
    this.told = address;
    history.replaceState(null, "", address + location.hash);
    this.heard.textContent = `Output ${writeRow(this.steps.output)}. ${this.verdict.textContent}`;
  }

  draw(dragging = false) {
    const {row} = this.state;
    const steps = layerNormSteps(row, this.state);
    this.steps = steps;
    if (!dragging) this.ends.row = fit([...row, ...steps.deviations], this.ends.row);
    this.ends.output = fit([-2, 2, ...steps.normalized, ...steps.output], this.ends.output);
    this.line.draw(row, this.ends.row, steps.mean, steps.std);
    const [mean, variance, std] = [steps.mean, steps.variance, steps.std].map((value) => writeNumber(value));
    this.statistics.replaceChildren(...colored(`x has mean μ = ${mean}, variance σ² = ${variance}, std σ = ${std}`));
    for (const panel of this.panels) this.drawPanel(panel);
    this.verdict.textContent = this.judge();
    this.more.disabled = row.length === MOST;
    this.less.disabled = row.length === 1;
    const address = addressOf(this.state);
    this.link.href = `${address}#${this.home.id}`;
    const taken = this.examples.findIndex((example) => example.address === address);
    this.choice.value = taken < 0 ? "" : taken;
  }

  drawPanel({move, title, line, values, lost, sliders}) {
    const {state, steps} = this;
    const made = move.values(steps);
    const middle = meanOf(made);
    const spread = Math.sqrt(meanOf(made.map((value) => (value - middle) ** 2)));
    title.replaceChildren(make("strong", {}, move.name), ": ", ...colored(move.rule(state, steps)));
    line.draw(made, move.name === "center" ? this.ends.row : this.ends.output, middle, spread);
    values.textContent = `${move.symbol} = ${writeRow(made)}`;
    const {gamma, beta} = move.name === "restyle" ? DEFAULTS : state;
    const output = move.without(steps, state.row).map((value) => gamma * value + beta);
    lost.replaceChildren(`Without it, the output would be ${writeRow(output)}. `);
    if (this.saves(move)) lost.append(make("strong", {class: "saves"}, "Saves this row"));
    for (const {name, input, shown} of sliders) {
      const {toPosition, write} = SLIDERS[name];
      input.value = toPosition(state[name]);
      input.setAttribute("aria-valuetext", write(state[name]));
      shown.textContent = write(state[name]);
    }
  }

  // A row that is normalized has no value that is far from 0; without this move it would have one, or nan.
  saves(move) {
    const normal = (values) => values.every((value) => Math.abs(value) <= FAR);
    return normal(this.steps.normalized) && !normal(move.without(this.steps, this.state.row));
  }

  judge() {
    if (this.steps.normalized.some(Number.isNaN)) {
      return "Nothing saves this row: σ is 0, there is no guard, and 0/0 is not a number. Move ε off 0.";
    }
    const why = `a normalized value would be nan, or farther than ${FAR} from 0`;
    const saving = MOVES.filter((move) => this.saves(move)).map((move) => move.name);
    if (!saving.length) return `This row needs no saving: no move is missed so much that ${why}.`;
    const names = [saving.slice(0, -1).join(", "), saving.at(-1)].filter(Boolean).join(" and ");
    return `Saved by ${names}: without ${saving.length > 1 ? "each of them" : "it"}, ${why}.`;
  }
}

for (const home of document.querySelectorAll(".row-explorer")) new Explorer(home);
