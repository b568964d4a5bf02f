// Replaces each picture by its interactive chart. Where a script or a feature is missing, the picture stays.
const unpacked = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).text();
};
// What a phone shows: the legend in as many columns as fit, panels one beneath another, names of a turned chart's rows
// above their marks and the numbers beneath them, so that the marks have the whole width.
const PHONE = 520, LETTER = 7.4;
const layers = (specification) => specification.layer ?? specification.spec?.layer ?? [];
const widen = (legend, width) => {
  const longest = Math.max(...(legend.values ?? [""]).map((name) => name.length));
  legend.columns = Math.max(1, Math.floor(width / (longest * LETTER + 40)));
  legend.labelLimit = width - 30;
};
const below = (mark, encoding) => {
  Object.assign(mark, { align: "right", dy: 15 });
  encoding.x = { value: { expr: "width" } };
};
const above = (axis, width) => Object.assign(axis, {
  labelAlign: "left", labelPadding: 0, labelOffset: -17, labelLimit: width,
});
const fold = (specification, width) => {
  const turned = layers(specification).some((layer) => layer.encoding.y?.axis?.domain === false);
  for (const { mark, encoding } of layers(specification)) {
    for (const channel of Object.values(encoding)) if (channel.legend) widen(channel.legend, width);
    if (turned && encoding.y?.axis) above(encoding.y.axis, width);
    if (turned && mark.type === "text") below(mark, encoding);
    if (turned && mark.type === "bar") mark.size = 12;
    if (!turned && encoding.x?.axis?.ticks === false && encoding.x.sort.join("  ").length * LETTER > width - 60)
      Object.assign(encoding.x.axis, { labelAngle: -40 });
  }
  if (turned) specification.height *= 2;
  if (specification.title) specification.title.limit = width;
  const { row, column } = specification.facet ?? {};
  if (column && !row) specification.facet = { row: { ...column, header: { labelOrient: "top", labelAnchor: "start" } } };
};
const draw = async (figure) => {
  const live = figure.querySelector(".live");
  const specification = JSON.parse(figure.querySelector("script").textContent);
  live.hidden = false;
  if (live.clientWidth < PHONE) fold(specification, live.clientWidth);
  if (specification.spec) {
    const columns = specification.facet.column ? Math.max(1, new Set(specification.data.values.map((row) => row.column)).size) : 1;
    specification.spec.width = Math.max(120, live.clientWidth / columns - (specification.resolve ? 88 : 22 + 100 / columns));
  }
  try {
    const drawn = await vegaEmbed(live, specification, {
      actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
    figure.view = drawn.view;
    figure.classList.add("drawn");
  } catch (error) {
    live.hidden = true;
    console.error(`${figure.id}: ${error}`);
  }
};
const packed = document.getElementById("vega").textContent;
if (packed && window.DecompressionStream) {
  const script = document.createElement("script");
  script.textContent = await unpacked(packed);
  document.head.append(script);
  await Promise.all([...document.querySelectorAll("figure:has(.live)")].map(draw));
}
document.body.dataset.charts = "ready";
