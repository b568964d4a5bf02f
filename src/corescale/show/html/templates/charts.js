// Replaces each picture by its interactive chart. Where a script or a feature is missing, the picture stays.
const unpacked = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).text();
};
const draw = async (figure) => {
  const live = figure.querySelector(".live");
  const specification = JSON.parse(figure.querySelector("script").textContent);
  live.hidden = false;
  if (specification.spec) {
    const columns = Math.max(1, new Set(specification.data.values.map((row) => row.column)).size);
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
