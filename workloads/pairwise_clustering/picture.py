# SPDX-License-Identifier: Apache-2.0
"""Draws what `pairwise_clustering --out FOLDER` wrote: the points in space, coloured by cluster.

picture.png, and picture.html, in which the cloud turns with the mouse: python picture.py FOLDER
Options of the program behind -- cluster first, so that one command clusters, places and draws:
    python picture.py FOLDER --smacof -- --input families --points 4000 --clusters 6 --planted 6
The places are those of classical scaling. --smacof finds others, which keep small distances better (needs
scikit-learn): of at most 3,000 points all, of more some landmarks, and then each other point by its distances to them.
--into report.html also adds the cloud to a report of corescale.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("Agg")
from matplotlib import pyplot as plt

Floats = npt.NDArray[np.float64]
MOST = 20_000
"""points drawn, at most; of more they are picked at equal distances"""

MOST_SMACOF = 3_000
"""Points at most that SMACOF places: a step takes N^2 time and memory, and it takes hundreds."""
LANDMARKS = 1_500
"""points, at equal distances, that SMACOF places if there are more"""
STEPS, ROWS = 100, 500
"""steps in which a point finds its place among the landmarks, and points that are placed together"""

HEAD = '<!doctype html><meta charset="utf-8"><title>Clusters in space</title>\n'
BEGIN, END = "<!-- clusters in space -->", "<!-- end of clusters in space -->"
CLOUD = """BEGIN
<section><h2>Clusters in space</h2>
<p>HOW of the distances, coloured by cluster. Drag to turn.</p><canvas id="clusters" width="900" height="700"></canvas>
<script>
(() => {
const points = POINTS, colours = COLOURS, canvas = document.querySelector("#clusters"), pen = canvas.getContext("2d");
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
})();
</script></section>
END
"""


def refuse(line: str) -> None:
    """One line on standard error, exit 2."""
    sys.exit(print(f"picture.py: {line}", file=sys.stderr) or 2)


def smacof(matrix: Path, points: int, classical: Floats) -> Floats:
    """Places [N, 3] that minimise the stress, from the classical ones; distances are squared-distance-like."""
    distances = np.load(matrix, mmap_mode="r")
    if distances.shape != (points, points):
        refuse(f"{matrix}: shape {distances.shape}, not {points} x {points}; give the matrix that was clustered")
    if points <= MOST_SMACOF:
        return smacof_of_all(np.asarray(distances, dtype=np.float64), classical)
    marks = np.linspace(0, points - 1, LANDMARKS).astype(int)
    known = smacof_of_all(np.asarray(distances[marks][:, marks], dtype=np.float64), classical[marks])
    places = classical * (np.abs(known).mean() / np.abs(classical[marks]).mean())
    for first in range(0, points, ROWS):
        lengths = np.sqrt(np.maximum(distances[first : first + ROWS][:, marks].astype(np.float64), 0.0))
        places[first : first + ROWS] = among(known, lengths, places[first : first + ROWS])
    places[marks] = known
    return places


def among(known: Floats, lengths: Floats, places: Floats) -> Floats:
    """Places [N, 3] of points whose distances [N, L] to landmarks [L, 3] are known, by majorisation."""
    for _ in range(STEPS):
        apart = places[:, None, :] - known[None, :, :]
        norms = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-300)
        places = (known[None, :, :] + apart * (lengths / norms)[:, :, None]).mean(axis=1)
    return places


def smacof_of_all(distances: Floats, classical: Floats) -> Floats:
    """Places [N, 3] of least stress, from the classical ones."""
    try:
        from sklearn.manifold import smacof as placed  # noqa: PLC0415  an optional extra
    except ImportError:
        refuse("--smacof needs scikit-learn: pip install corescale[smacof]")
    lengths = np.sqrt(np.maximum((distances + distances.T) / 2, 0.0))
    scale = np.sqrt((lengths**2).mean() / max(float((classical**2).sum(axis=1).mean()) * 2, 1e-300))
    places, _ = placed(
        lengths, n_components=3, init=classical * scale, n_init=1, random_state=1, normalized_stress=False
    )
    return np.asarray(places)


def into(report: Path, cloud: str) -> None:
    """The cloud before the end of a page, in place of one that is there."""
    page = report.read_text(encoding="utf-8")
    if BEGIN in page and END in page:
        page = page[: page.index(BEGIN)] + page[page.index(END) + len(END) :]
    if "</body>" not in page:
        refuse(f"{report}: no page with a body; give the report.html of corescale")
    before, _, after = page.rpartition("</body>")
    report.write_text(f"{before}{cloud.strip()}</body>{after}", encoding="utf-8")


def main(folder: Path, matrix: Path | None = None, report: Path | None = None) -> None:
    """Write both pictures into the folder."""
    table = np.loadtxt(folder / "labels.csv", delimiter=",", skiprows=1, ndmin=2)
    if matrix is not None:
        table[:, 2:] = smacof(matrix, len(table), table[:, 2:])
    table = table[:: -(-len(table) // MOST)]
    clusters, places = table[:, 1].astype(int), table[:, 2:]
    colours = [mpl.colors.to_hex(colour) for colour in plt.get_cmap("tab10").colors]  # type: ignore[attr-defined]
    axes = plt.figure(figsize=(8, 7)).add_subplot(projection="3d")
    axes.scatter(*places.T, s=4, c=[colours[k % len(colours)] for k in clusters])
    axes.set_title(f"{len(table)} points in {clusters.max() + 1} clusters")
    plt.savefig(folder / "picture.png", dpi=150)
    scaled = places / max(float(np.abs(places).max()), 1e-300)
    points = [[*(round(float(v), 4) for v in place), int(k)] for place, k in zip(scaled, clusters, strict=True)]
    how = "Classical scaling" if matrix is None else "SMACOF"
    marked = CLOUD.replace("BEGIN", BEGIN).replace("END", END).replace("HOW", how)
    cloud = marked.replace("POINTS", json.dumps(points)).replace("COLOURS", json.dumps(colours))
    (folder / "picture.html").write_text(HEAD + cloud)
    if report is not None:
        into(report, cloud)


def clustered(folder: Path, options: list[str], *, keep: bool) -> None:
    """Run the program into the folder; `keep` its distances there too."""
    from corescale import native  # noqa: PLC0415  of which a folder that is there needs nothing

    kept = ["--cache", str(folder / "distances.npy")] if keep else []
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([native.find("pairwise_clustering"), *options, "--out", folder, *kept], check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--smacof", type=Path, nargs="?", const=Path(), metavar="DISTANCES.npy")
    parser.add_argument("--into", type=Path, metavar="report.html")
    given = parser.parse_args(words[:split])
    own = given.smacof == Path()
    if words[split + 1 :]:
        clustered(given.folder, words[split + 1 :], keep=own)
    main(given.folder, given.folder / "distances.npy" if own else given.smacof, given.into)
