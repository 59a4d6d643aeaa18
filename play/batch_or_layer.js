// A reader changes one number of a grid of examples × features, and sees which outputs of a norm move.
// The starting grid is the table that stands on the page anyway; its arrow, as in 5 → 17, is the suggested edit.

const STEP = 1;  // what the up and down arrow keys add
const ROUNDING = 1e-13;  // beside the largest output of a line, smaller differences are no moves
const STEPPED_DIGITS = 15;  // so many are free of the noise of binary fractions, as in 0.1 + 0.2

// `down`: whether the numbers that are normalized together stand in a column.
const NORMS = [
  {name: "Layer norm", outputs: (grid) => grid.map((row) => layerNorm(row)), down: false, centers: true},
  {name: "Batch norm", hint: ", in training", outputs: (grid) => batchNorm(grid), down: true, centers: true},
  {name: "RMSNorm", outputs: (grid) => grid.map((row) => rmsNorm(row)), down: false, centers: false},
];

const HINT = "Change a number, then choose one norm after the other. What you do to one number, until you change "
  + "another, is one edit, and moves are measured from the grid before it. The up and down arrow keys change "
  + "a number by one.";

const inFull = (value) => String(value).replaceAll("-", "−");

function stepped(value, direction) {
  const next = Number((value + direction * STEP).toPrecision(STEPPED_DIGITS));
  return Number.isFinite(next) ? next : value;
}

const midSentence = (name) => (name.startsWith("RMS") ? name : name.toLowerCase());

function readTable(table) {
  const grid = [];
  let edit;
  for (const [example, row] of [...table.tBodies[0].rows].entries()) {
    grid.push([...row.cells].slice(1).map((cell, feature) => {
      const [value, suggested] = cell.textContent.split("→").map(readNumber);
      if (suggested !== undefined) edit = {example, feature, value: suggested};
      return value;
    }));
  }
  return {grid, edit};
}

const nameOf = ({example, feature}) => `example ${example + 1}, feature ${feature + 1}`;
const lineName = (cell, norm) => (norm.down ? `feature ${cell.feature + 1}` : `example ${cell.example + 1}`);
const lineOf = (grid, cell, norm) => (norm.down ? grid.map((row) => row[cell.feature]) : grid[cell.example]);
const inLine = (one, other, norm) => (norm.down ? one.feature === other.feature : one.example === other.example);

// How far each output moved, in the shape of the grid.
function movesOf(before, after, cell, norm) {
  const sizes = [...lineOf(before, cell, norm), ...lineOf(after, cell, norm)].map(Math.abs);
  const least = ROUNDING * Math.max(...sizes);
  return after.map((row, example) => row.map((value, feature) => {
    const move = value - before[example][feature];
    return Math.abs(move) > least ? move : 0;
  }));
}

function sharedBy(grid, cell, norm) {
  const line = lineOf(grid, cell, norm);
  const {mean, std} = layerNormSteps(line);
  const rootMeanSquare = Math.hypot(...line) / Math.sqrt(line.length);
  const shared = norm.centers
    ? `a mean of ${writeNumber(mean)} and a std of ${writeNumber(std)}`
    : `a root mean square of ${writeNumber(rootMeanSquare)}`;
  const name = lineName(cell, norm);
  return `Framed inputs: in ${midSentence(norm.name)}, the numbers of ${name} share ${shared}.`;
}

function outcome(moves, cell, norm) {
  const all = moves.flat().length;
  const moved = moves.flat().filter(Boolean).length;
  if (!moved) return `${norm.name}: none of ${all} outputs moved.`;
  const beyond = moves.filter((row, example) => example !== cell.example && row.some(Boolean)).length;
  const others = beyond ? `; ${beyond} of them in examples that you did not change` : "";
  return `${norm.name}: ${moved} of ${all} outputs moved, all in ${lineName(cell, norm)}${others}.`;
}

function board(title, features, rows) {
  const names = features.map((_, feature) => make("th", {scope: "col"}, `feature ${feature + 1}`));
  const head = make("tr", {}, make("td"), ...names);
  const caption = make("caption", {}, title);
  return make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows));
}

function play(box) {
  const table = box.querySelector("table");
  const {grid: start, edit} = readTable(table);
  const copy = (grid) => grid.map((row) => [...row]);
  const grid = copy(start);
  let before = copy(start);  // the grid as it was when the reader began to change `changed`
  let changed = null;
  let norm = NORMS[0];

  const cells = start.map((row, example) => row.map((_, feature) => makeCell({example, feature})));
  const all = cells.flat();
  let selected = cells[edit.example][edit.feature];

  const status = make("p", {role: "status"});
  const shared = make("p");
  const outputTitle = make("span");
  const choices = NORMS.map((each, place) => {
    const radio = make("input", {type: "radio", name: "norm", ...(place ? {} : {checked: ""})});
    radio.addEventListener("change", () => {
      norm = each;
      show();
    });
    return make("label", {}, radio, each.name, each.hint ?? "");
  });

  function makeCell(place) {
    const id = `cell-${place.example + 1}-${place.feature + 1}`;
    const was = make("span", {id: `${id}-was`});
    const complaint = make("p", {id: `${id}-complaint`, role: "alert"});
    const input = make("input", {
      type: "text", "aria-label": nameOf(place), "aria-describedby": `${was.id} ${complaint.id}`,
      autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "done",
    });
    const cell = {...place, input, was, complaint, output: make("td")};
    input.addEventListener("focus", () => {
      selected = cell;
      show();
    });
    // While a number is being typed, it may not be one yet: complaints wait until the reader is done.
    input.addEventListener("input", () => {
      try {
        change(cell, readNumber(input.value));
      } catch {}
    });
    input.addEventListener("change", () => {
      try {
        readNumber(input.value);
      } catch (error) {
        complain(cell, error.message);
      }
    });
    input.addEventListener("keydown", (event) => {
      const direction = {ArrowUp: 1, ArrowDown: -1}[event.key];
      if (!direction || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      write(cell, stepped(grid[cell.example][cell.feature], direction));
    });
    return cell;
  }

  function change(cell, value) {
    if (cell !== changed) {
      before = copy(grid);
      changed = cell;
    }
    grid[cell.example][cell.feature] = value;
    cell.complaint.textContent = "";
    cell.input.removeAttribute("aria-invalid");
    show();
  }

  function write(cell, value) {
    cell.input.value = inFull(value);
    change(cell, value);
  }

  function complain(cell, message) {
    const kept = inFull(grid[cell.example][cell.feature]);
    const name = nameOf(cell);
    cell.complaint.textContent = `${name[0].toUpperCase()}${name.slice(1)}: ${message} Until then ${kept} stays.`;
    cell.input.setAttribute("aria-invalid", "true");
  }

  function restart() {
    all.forEach((cell) => write(cell, start[cell.example][cell.feature]));
    changed = null;
    before = copy(start);
    selected = cells[edit.example][edit.feature];
    show();
  }

  function show() {
    const outputs = norm.outputs(grid);
    const moves = movesOf(norm.outputs(before), outputs, changed ?? selected, norm);
    for (const cell of all) {
      const {example, feature} = cell;
      const old = before[example][feature];
      cell.was.textContent = old === grid[example][feature] ? "" : `was ${writeNumber(old)}`;
      cell.input.parentElement.classList.toggle("shares", inLine(cell, selected, norm));
      showOutput(cell.output, outputs[example][feature], changed && moves[example][feature]);
    }
    outputTitle.textContent = `Outputs of ${midSentence(norm.name)}`;
    shared.textContent = sharedBy(grid, selected, norm);
    const news = changed ? outcome(moves, changed, norm) : `${norm.name}: you have not changed a number yet.`;
    if (status.textContent !== news) status.textContent = news;
  }

  // move: null before the first edit.
  function showOutput(place, value, move) {
    const lines = [make("span", {}, writeNumber(value))];
    if (move) {
      const [arrow, words] = move > 0 ? ["▲", "moved up by "] : ["▼", "moved down by "];
      const mark = make("span", {"aria-hidden": "true"}, arrow);
      const said = make("span", {class: "visually-hidden"}, `, ${words}`);
      lines.push(make("span", {class: "move"}, mark, said, ` ${writeNumber(Math.abs(move))}`));
    } else if (move !== null) {
      lines.push(make("span", {class: "visually-hidden"}, ", did not move"));
    }
    place.classList.toggle("moved", Boolean(move));
    place.replaceChildren(...lines);
  }

  function button(words, press) {
    const made = make("button", {type: "button"}, words);
    made.addEventListener("click", press);
    return made;
  }

  const rowOf = (row, example, content) => make(
    "tr", {}, make("th", {scope: "row"}, `example ${example + 1}`), ...row.map(content));
  const inputRows = cells.flatMap((row, example) => [
    rowOf(row, example, (cell) => make("td", {}, cell.input, cell.was)),
    make("tr", {class: "complaints"}, make("td", {colspan: row.length + 1}, ...row.map((cell) => cell.complaint))),
  ]);
  const outputRows = cells.map((row, example) => rowOf(row, example, (cell) => cell.output));
  const tryIt = `Start again with ${inFull(edit.value)} in ${nameOf(edit)}`;
  box.append(make(
    "div", {class: "play"},
    make("fieldset", {}, make("legend", {}, "Norm"), ...choices),
    make("p", {}, HINT),
    make("div", {class: "boards"},
      board("Inputs", start[0], inputRows),
      board(outputTitle, start[0], outputRows)),
    status, shared,
    make("div", {class: "buttons"},
      button(tryIt, () => {
        restart();
        write(selected, edit.value);
      }),
      button("Start again", restart)),
  ));
  restart();
  box.classList.add("at-play");
}

play(document.querySelector(".batch-or-layer"));
