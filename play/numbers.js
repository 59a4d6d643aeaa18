// How readers type numbers, and how playthings write them. As in the figures: four digits, a true minus.

const DIGITS = 4;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// The number that a text says; throws an Error whose message is for the reader.
function readNumber(text) {
  const plain = text.trim().replace(/[−–]/g, "-");
  if (!NUMBER.test(plain)) {
    const said = plain ? `“${text.trim()}” is not a number.` : "There is no number here.";
    throw new Error(`${said} Write one like 2.5, −3 or 1e-5.`);
  }
  const value = Number(plain);
  if (!Number.isFinite(value)) throw new Error(`${text.trim()} is too large: numbers end near 1.8e308.`);
  return value + 0;  // no zero has a sign
}

// The numbers of a row such as "1, 2.5, −3", also in brackets or with spaces only; throws as readNumber does.
function readRow(text, most) {
  const words = text.replace(/^\s*[([]|[)\]]\s*$/g, "").split(/[\s,;]+/).filter(Boolean);
  if (!words.length) throw new Error("There is no number here. Write a row like 1, 2, 3, 4.");
  if (words.length > most) throw new Error(`These are ${words.length} numbers, and there is room for ${most}.`);
  return words.map(readNumber);
}

function writeNumber(value, digits = DIGITS) {
  if (Number.isNaN(value)) return "nan";
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size === Infinity) return `${sign}∞`;
  const rounded = Number(size.toPrecision(digits));
  if (rounded === 0) return "0";
  if (rounded >= 1e-4 && rounded < 1e6) return sign + rounded;
  const [factor, exponent] = rounded.toExponential().split("e");
  const power = [...exponent].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[c] ?? "")).join("");
  return `${sign}${factor} × 10${power}`;
}

function writeRow(values) {
  return `(${values.map((value) => writeNumber(value)).join(", ")})`;
}
