// Every ratio and interval again, from the blocks in the page: conclude/stats.py, conclude/response.py and the answers
// that read them, in the same order of operations. `again(data, base, confidence, calm)` is all of it; the rest draws.
const finite = (values) => values.filter(Number.isFinite);
const NONE = { estimate: NaN, low: null, high: null, n: 0 };
const hodgesLehmann = (ratios, limits) => {
  const values = finite(ratios), n = values.length;
  if (!n) return NONE;
  const averages = new Float64Array((n * (n + 1)) / 2);
  for (let i = 0, k = 0; i < n; i++) for (let j = i; j < n; j++) averages[k++] = (values[i] + values[j]) / 2;
  averages.sort();
  const last = averages.length - 1, { tail } = limits[n];
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
const medianInterval = (times, limits) => {
  const values = Float64Array.from(finite(times)).sort(), n = values.length, estimate = medianOf(values), { rank } = limits[n];
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
const ratioOfMeans = (a, b, limits) => {
  const both = a.map((value, k) => [value, b[k]]).filter((pair) => pair.every(Number.isFinite)), n = both.length;
  if (!n) return NONE;
  const first = mean(both.map((pair) => pair[0])), second = mean(both.map((pair) => pair[1])), estimate = first / second;
  if (limits[n].quantile === null) return { estimate, low: null, high: null, n };
  const error = Math.sqrt(variance(both.map((pair) => pair[0] / first - pair[1] / second))) / Math.sqrt(n);
  const reach = limits[n].quantile * error;
  return { estimate, low: estimate * Math.exp(-reach), high: estimate * Math.exp(reach), n };
};
const ITSELF = { estimate: 1, low: null, high: null, n: 0 };

// One row for each configuration. `base`: null for the run's own baselines. `calm`: without the disturbed blocks.
const again = (data, base, confidence, calm) => {
  const rows = data.values.filter((_, block) => !calm || data.kept[block]);
  const column = (k) => rows.map((row) => row[k] ?? NaN), step = data.steps[calm ? 1 : 0];
  const { limits } = data.confidences.find((one) => one.confidence === confidence);
  return data.names.map((name, own) => {
    const reference = base ?? data.reference[own], to = column(reference), of = column(own);
    const [above, under] = data.read === "compare" ? [of, to] : [to, of];
    const p = data.p[own], first = data.p[reference];
    let ratio = hodgesLehmann(above.map((value, k) => Math.log(value) - Math.log(under[k])), limits);
    if (own !== reference) ratio = widened(ratio, [above, under], step);
    if (data.read === "scan" && data.weak) ratio = mapped(ratio, (r) => r + Math.log(p / first));
    const found = { name, reference, time: medianInterval(of, limits) };
    if (data.read === "scan")
      return {
        ...found, speedup: mapped(ratio, Math.exp), efficiency: mapped(ratio, (r) => (first / p) * Math.exp(r)),
        overhead: mapped(ratio, (r) => (p / first) * Math.exp(-r) - 1),
      };
    if (data.read === "tune") return { ...found, ratio: mapped(ratio, Math.exp) };
    if (own === reference) return { ...found, ratio: ITSELF, mean: ITSELF };
    const means = widened(mapped(ratioOfMeans(of, to, limits), Math.log), [of, to], step);
    return { ...found, ratio: mapped(ratio, Math.exp), mean: mapped(means, Math.exp) };
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
      (lacks ? ": too few blocks for an interval" : "") +
      (base === null ? "" : ", each by itself, as its baseline was chosen after looking") +
      (data.read === "tune" ? ", of the race: no gain is read from them" : "") + (data.origins ? ` (${data.origins}).` : ".");
  };
  const head = section.querySelector("thead tr");
  for (const title of Object.values(HEADS[data.read])) head.append(element("th", title, { scope: "col" }));
  data.names.forEach((name, k) => $("again-baseline").append(element("option", name, { value: k })));
  const dropped = data.kept.filter((kept) => !kept).length;
  $("again-calm").disabled = $("again-calm").parentElement.hidden = dropped === 0;
  $("again-dropped").textContent = dropped === 1 ? "without the 1 disturbed block" : `without the ${dropped} disturbed blocks`;
  for (const { confidence } of data.confidences)
    $("again-confidence").append(element("option", `${Number((100 * confidence).toFixed(3))}%`, { value: confidence }));
  $("again-confidence").value = data.confidence;
  $("again-calm").checked = data.calm;
  for (const id of ["again-baseline", "again-confidence", "again-calm"]) $(id).addEventListener("change", show);
  $("again-reset").addEventListener("click", () => {
    $("again-baseline").value = "";
    $("again-confidence").value = data.confidence;
    $("again-calm").checked = data.calm;
    show();
  });
  section.hidden = false;
  section.again = (...choice) => again(data, ...choice);
  show();
}
