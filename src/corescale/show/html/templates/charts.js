// Shows at the pointer what a mark of a chart says.
const tip = document.getElementById("tip");
const say = ({ target, clientX, clientY }) => {
  const mark = target.closest?.("[role=graphics-symbol]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.getAttribute("aria-label");
  const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
  Object.assign(tip.style, { left: `${Math.max(8, Math.min(clientX + 12, most))}px`, top: `${clientY + 12}px` });
};
for (const moved of ["pointermove", "pointerdown"]) document.addEventListener(moved, say);
document.body.dataset.charts = "ready";
