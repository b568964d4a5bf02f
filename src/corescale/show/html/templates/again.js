// Every ratio and interval again, from the blocks in the page: conclude/stats.py, conclude/response.py and the answers
// that read them, in the same order of operations. `again(data, base, confidence, calm)` is all of it; the rest draws.
const finite = (values) => values.filter(Number.isFinite);
const NONE = { estimate: NaN, low: null, high: null, n: 0 };
const EXACT_UP_TO = 200;
const nulls = new Map();
const distribution = (n) => {  // P(W <= c) of the signed-rank sum
  if (!nulls.has(n)) {
    const chances = new Float64Array((n * (n + 1)) / 2 + 1);
    chances[0] = 1;
    for (let rank = 1; rank <= n; rank++) {
      for (let sum = chances.length - 1; sum >= rank; sum--) chances[sum] = (chances[sum] + chances[sum - rank]) / 2;
      for (let sum = 0; sum < rank; sum++) chances[sum] /= 2;
    }
    for (let sum = 1; sum < chances.length; sum++) chances[sum] += chances[sum - 1];
    nulls.set(n, chances);
  }
  return nulls.get(n);
};
const firstAbove = (sorted, value) => {
  let place = 0;
  while (place < sorted.length && sorted[place] <= value) place++;
  return place;
};
const polynomial = (coefficients, x) => coefficients.reduce((sum, c) => sum * x + c, 0);
const normalQuantile = (p) => {  // Wichura's AS 241, to 1e-16
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    return (q * polynomial([2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608], r)) /
      polynomial([5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1], r);
  }
  let r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  if (r <= 5) {
    r -= 1.6;
    r = polynomial([7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734], r) /
      polynomial([1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1], r);
  } else {
    r -= 5;
    r = polynomial([2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772], r) /
      polynomial([2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1], r);
  }
  return q < 0 ? -r : r;
};
const tailCount = (n, tail) => {
  const allowed = tail * (1 + 1e-12);
  if (n <= EXACT_UP_TO) return firstAbove(distribution(n), allowed) - 1;
  const mean = (n * (n + 1)) / 4, deviation = Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24);
  return Math.max(-1, Math.floor(mean + deviation * normalQuantile(allowed) - 0.5));
};
const hodgesLehmann = (ratios, confidence) => {
  const values = finite(ratios), n = values.length;
  if (!n) return NONE;
  const averages = new Float64Array((n * (n + 1)) / 2);
  for (let i = 0, k = 0; i < n; i++) for (let j = i; j < n; j++) averages[k++] = (values[i] + values[j]) / 2;
  averages.sort();
  const last = averages.length - 1, tail = tailCount(n, (1 - confidence) / 2);
  const estimate = (averages[Math.floor(last / 2)] + averages[Math.floor((last + 1) / 2)]) / 2;
  return tail < 0 ? { estimate, low: null, high: null, n } : { estimate, low: averages[tail], high: averages[last - tail], n };
};
const mapped = (interval, of) => {
  const estimate = of(interval.estimate);
  if (interval.low === null) return { ...interval, estimate };
  const ends = [of(interval.low), of(interval.high)];
  return { ...interval, estimate, low: Math.min(...ends), high: Math.max(...ends) };
};
const medianOf = (sorted) => {
  const last = sorted.length - 1;
  return last < 0 ? NaN : (sorted[Math.floor(last / 2)] + sorted[Math.ceil(last / 2)]) / 2;
};
const medianInterval = (times, confidence) => {
  const values = Float64Array.from(finite(times)).sort(), n = values.length, estimate = medianOf(values);
  let rank = 0, logarithm = -n * Math.LN2, below = Math.exp(logarithm);
  while (rank < Math.floor(n / 2) && below <= (1 - confidence) / 2) {
    logarithm += Math.log(n - rank) - Math.log(rank + 1);
    below += Math.exp(logarithm);
    rank++;
  }
  return rank ? { estimate, low: values[rank - 1], high: values[n - rank], n } : { estimate, low: null, high: null, n };
};
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values) => {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
};
const widened = (interval, columns, step) => {  // by what the steps of a quantised response leave open
  if (interval.low === null) return interval;
  const off = columns.map((column) => {
    const logs = finite(column.map(Math.log)), half = logs.length ? step / 2 / Math.exp(mean(logs)) : 0;
    return (logs.length > 1 ? variance(logs) : 0) < half ** 2 ? half : 0;
  }).reduce((sum, one) => sum + one, 0);
  return { ...interval, low: interval.low - off, high: interval.high + off };
};
const logGamma = (x) => {  // Stirling's series from 15 on
  let shift = 0;
  for (; x < 15; x++) shift -= Math.log(x);
  const y = 1 / (x * x);
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 +
    polynomial([-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12], y) / x;
};
const betaFraction = (a, b, x) => {  // continued fraction of the incomplete beta function (Lentz)
  const small = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1, d = 1 / small(1 - ((a + b) * x) / (a + 1)), product = d;
  for (let m = 1; m < 500; m++) {
    for (const term of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 / small(1 + term * d);
      c = small(1 + term / c);
      product *= d * c;
    }
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return product / a;
};
const beta = (a, b, x) => {
  if (x <= 0) return 0;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) : 1 - front * betaFraction(b, a, 1 - x);
};
const studentQuantile = (freedom, p) => {  // p > 1/2; by halving, of P(|T| > t) = I(v / (v + t^2); v/2, 1/2)
  let low = 0, high = 1;
  const beyond = (t) => beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  while (beyond(high) > 1 - p) high *= 2;
  for (let k = 0; k < 200 && low < high; k++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (beyond(middle) > 1 - p) low = middle; else high = middle;
  }
  return (low + high) / 2;
};
const ratioOfMeans = (a, b, confidence) => {
  const both = a.map((value, k) => [value, b[k]]).filter((pair) => pair.every(Number.isFinite)), n = both.length;
  if (!n) return NONE;
  const first = mean(both.map((pair) => pair[0])), second = mean(both.map((pair) => pair[1])), estimate = first / second;
  if (n < 1 + Math.ceil(-Math.log2(1 - confidence) - 1e-9)) return { estimate, low: null, high: null, n };
  const error = Math.sqrt(variance(both.map((pair) => pair[0] / first - pair[1] / second))) / Math.sqrt(n);
  const reach = studentQuantile(n - 1, (1 + confidence) / 2) * error;
  return { estimate, low: estimate * Math.exp(-reach), high: estimate * Math.exp(reach), n };
};
const ITSELF = { estimate: 1, low: null, high: null, n: 0 };

// One row for each configuration. `base`: null for the run's own baselines. `calm`: without the disturbed blocks.
const again = (data, base, confidence, calm) => {
  const rows = data.values.filter((_, block) => !calm || data.kept[block]);
  const column = (k) => rows.map((row) => row[k] ?? NaN), step = data.steps[calm ? 1 : 0];
  const asked = 1 - (1 - (1 - data.spent * (1 - confidence))) / data.statements;
  return data.names.map((name, own) => {
    const reference = base ?? data.reference[own], to = column(reference), of = column(own);
    const [above, under] = data.read === "compare" ? [of, to] : [to, of];
    const p = data.p[own], first = data.p[reference];
    let ratio = hodgesLehmann(above.map((value, k) => Math.log(value) - Math.log(under[k])), asked);
    if (own !== reference) ratio = widened(ratio, [above, under], step);
    if (data.read === "scan" && data.weak) ratio = mapped(ratio, (r) => r + Math.log(p / first));
    const found = { name, reference, time: medianInterval(of, confidence) };
    if (data.read === "scan")
      return {
        ...found, speedup: mapped(ratio, Math.exp), efficiency: mapped(ratio, (r) => (first / p) * Math.exp(r)),
        overhead: mapped(ratio, (r) => (p / first) * Math.exp(-r) - 1),
      };
    if (data.read === "tune") return { ...found, ratio: mapped(ratio, Math.exp) };
    if (own === reference) return { ...found, ratio: ITSELF, mean: ITSELF };
    return { ...found, ratio: mapped(ratio, Math.exp), mean: ratioOfMeans(of, to, asked) };
  });
};

const HEADS = {
  scan: { time: "time", speedup: "speedup", efficiency: "efficiency", overhead: "overhead" },
  tune: { time: "time", ratio: "T(baseline) / T" },
  compare: { time: "time", ratio: "T / T(baseline)", mean: "mean ratio" },
};
const significant = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "-");
const unitOf = (value) => [[1, "s"], [1e3, "ms"], [1e6, "us"]].find(([factor]) => value * factor >= 1) ?? [1e6, "us"];
const written = (kind, interval, isTime) => {
  const [factor, unit] = kind === "time" ? (isTime ? unitOf(interval.estimate) : [1, ""]) : ["efficiency", "overhead"].includes(kind) ? [100, "%"] : [1, "x"];
  const one = (value) => significant(value * factor), gap = kind === "time" && unit ? " " : "";
  return [`${one(interval.estimate)}${gap}${unit}`, interval.low === null ? "" : `[${one(interval.low)}, ${one(interval.high)}]`];
};
const element = (name, text = "", attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const FOLDED = {{ FOLDED }};
const folded = (line) => {
  if (line.length <= FOLDED) return line;
  const made = element("details");
  made.append(element("summary", `${line.slice(0, FOLDED)}…`), line);
  return made;
};
const section = document.getElementById("again");
if (section) {
  const data = JSON.parse(document.getElementById("measured").textContent), $ = (id) => document.getElementById(id);
  const show = () => {
    const base = $("again-baseline").value === "" ? null : Number($("again-baseline").value);
    const confidence = Number($("again-confidence").value), calm = $("again-calm").checked;
    const rows = again(data, base, confidence, calm), kinds = Object.keys(HEADS[data.read]), body = $("again-rows");
    const count = data.kept.filter((kept) => kept || !calm).length, lacks = rows.every((row) => (row.speedup ?? row.ratio).low === null);
    body.replaceChildren(...rows.map((row, own) => {
      const line = element("tr", "", row.reference === own ? { class: "chosen" } : {});
      const name = element("th", "", { scope: "row", class: "text" });
      name.append(folded(row.name));
      if (row.reference === own) name.append(element("span", "baseline", { class: "mark use" }));
      line.append(name);
      for (const kind of kinds) {
        const [value, ends] = written(kind, row[kind], data.time), cell = element("td", value, { "data-kind": kind });
        for (const end of ["estimate", "low", "high"]) cell.dataset[end] = row[kind][end];
        if (ends) cell.append(element("small", ends));
        line.append(cell);
      }
      return line;
    }));
    $("again-says").textContent = `${count} of ${data.blocks.length} blocks, ${Number((100 * confidence).toFixed(3))}% intervals` +
      (lacks ? ": too few blocks for an interval" : "") + (data.origins ? ` (${data.origins}).` : ".");
  };
  const head = section.querySelector("thead tr");
  for (const title of Object.values(HEADS[data.read])) head.append(element("th", title, { scope: "col" }));
  data.names.forEach((name, k) => $("again-baseline").append(element("option", name, { value: k })));
  const dropped = data.kept.filter((kept) => !kept).length;
  $("again-calm").disabled = $("again-calm").parentElement.hidden = dropped === 0;
  $("again-dropped").textContent = dropped === 1 ? "without the 1 disturbed block" : `without the ${dropped} disturbed blocks`;
  const levels = [...new Set([0.8, 0.9, 0.95, 0.99, data.confidence])].sort();
  for (const level of levels) $("again-confidence").append(element("option", `${Number((100 * level).toFixed(3))}%`, { value: level }));
  $("again-confidence").value = data.confidence;
  for (const id of ["again-baseline", "again-confidence", "again-calm"]) $(id).addEventListener("change", show);
  $("again-reset").addEventListener("click", () => {
    $("again-baseline").value = "";
    $("again-confidence").value = data.confidence;
    $("again-calm").checked = false;
    show();
  });
  section.hidden = false;
  section.again = (...choice) => again(data, ...choice);
  show();
}
