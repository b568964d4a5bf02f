# SPDX-License-Identifier: Apache-2.0
"""Draws what `pairwise_clustering --out FOLDER` wrote: the points in space, coloured by cluster.

picture.png, and picture.html, in which the cloud turns with the mouse: python picture.py FOLDER
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

MOST = 20_000
"""points drawn; of more, every so many"""

PAGE = """<!doctype html><meta charset="utf-8"><title>Clusters in space</title>
<p>Classical scaling of the distances, coloured by cluster. Drag to turn.</p><canvas width="900" height="700"></canvas>
<script>
const points = POINTS, colours = COLOURS, canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
let a = 0.6, b = 0.4, held = null;
function draw() {
  pen.clearRect(0, 0, canvas.width, canvas.height);
  for (const [x, y, z, k] of points) {
    const u = x * Math.cos(a) + z * Math.sin(a), w = z * Math.cos(a) - x * Math.sin(a);
    pen.fillStyle = colours[k % colours.length];
    pen.fillRect(450 + 320 * u, 350 + 320 * (y * Math.cos(b) - w * Math.sin(b)), 3, 3);
  }
}
canvas.onpointerdown = e => { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); };
canvas.onpointerup = () => { held = null; };
canvas.onpointermove = e => {
  if (!held) return;
  a += (e.clientX - held[0]) / 150; b += (e.clientY - held[1]) / 150; held = [e.clientX, e.clientY]; draw();
};
draw();
</script>
"""


def main(folder: Path) -> None:
    """Write both pictures into the folder."""
    table = np.loadtxt(folder / "labels.csv", delimiter=",", skiprows=1, ndmin=2)
    table = table[:: -(-len(table) // MOST)]
    clusters, places = table[:, 1].astype(int), table[:, 2:]
    colours = [mpl.colors.to_hex(colour) for colour in plt.get_cmap("tab10").colors]  # type: ignore[attr-defined]
    axes = plt.figure(figsize=(8, 7)).add_subplot(projection="3d")
    axes.scatter(*places.T, s=4, c=[colours[k % len(colours)] for k in clusters])
    axes.set_title(f"{len(table)} points in {clusters.max() + 1} clusters")
    plt.savefig(folder / "picture.png", dpi=150)
    scaled = places / max(float(np.abs(places).max()), 1e-300)
    points = [[*(round(float(v), 4) for v in place), int(k)] for place, k in zip(scaled, clusters, strict=True)]
    page = PAGE.replace("POINTS", json.dumps(points)).replace("COLOURS", json.dumps(colours))
    (folder / "picture.html").write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
