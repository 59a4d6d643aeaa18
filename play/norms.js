// The arithmetic of lnlib for short rows: layer norm with every quantity on the way, batch norm and RMSNorm.
// As in lnlib/rows.py, rows are measured from their first value, and in a unit in which squares are safe.

const DEFAULT_EPS = 1e-5;  // LayerNorm's

// value × 2^power, where 2^power itself may be too large or too small to write.
function scaled(value, power) {
  const half = Math.trunc(power / 2);
  return value * 2 ** half * 2 ** (power - half);
}

// A power of two near the size of the largest value, or 0 where all are zero.
function unitOf(values) {
  const largest = Math.max(...values.map(Math.abs));
  return largest > 0 ? Math.max(Math.floor(Math.log2(largest)), -1074) : 0;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const meanOf = (values) => sum(values) / values.length;

// All that layer norm makes of a row on the way. `squeezed` is what the squeeze alone would give, without eps.
function layerNormSteps(row, {eps = DEFAULT_EPS, gamma = 1, beta = 0} = {}) {
  const spare = unitOf(row) > 1000 ? -8 : 0;  // differences of the largest numbers must not overflow
  const [first, ...rest] = row.map((value) => scaled(value, spare));
  const fromFirst = [0, ...rest.map((value) => value - first)];
  const own = unitOf(fromFirst);
  const places = fromFirst.map((value) => scaled(value, -own));
  const middle = meanOf(places);
  const deviations = places.map((value) => value - middle);
  const variance = meanOf(deviations.map((value) => value * value));
  const std = Math.sqrt(variance);
  const root = scaled(Math.sqrt(eps), spare);
  const common = root > 0 ? Math.max(own, unitOf([root])) : own;  // the larger of spread and root decides
  const guardedStd = Math.hypot(scaled(std, own - common), scaled(root, -common));
  const normalized = deviations.map((value) => scaled(value, own - common) / guardedStd);
  return {
    mean: scaled(first + scaled(middle, own), -spare),
    deviations: deviations.map((value) => scaled(value, own - spare)),
    variance: scaled(variance, 2 * (own - spare)),
    std: scaled(std, own - spare),
    guardedStd: scaled(guardedStd, common - spare),
    squeezed: deviations.map((value) => value / std),
    normalized,
    output: normalized.map((value) => gamma * value + beta),
  };
}

const layerNorm = (row, eps = DEFAULT_EPS) => layerNormSteps(row, {eps}).normalized;

// Each feature by its own mean and variance over the examples, as in training.
function batchNorm(rows, eps = DEFAULT_EPS) {
  const columns = rows[0].map((_, feature) => layerNorm(rows.map((row) => row[feature]), eps));
  return rows.map((_, example) => columns.map((column) => column[example]));
}

// A row over the root of the mean of its squares: nothing is centered.
function rmsNorm(row, eps = DEFAULT_EPS) {
  const unit = unitOf([...row, Math.sqrt(eps)]);
  const values = row.map((value) => scaled(value, -unit));
  const root = Math.sqrt(meanOf(values.map((value) => value * value)) + scaled(Math.sqrt(eps), -unit) ** 2);
  return values.map((value) => value / root);
}
