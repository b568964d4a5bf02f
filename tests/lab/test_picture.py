# SPDX-License-Identifier: Apache-2.0
"""The picture of the clusters: a PNG, and a page whose points are those of the table."""

import importlib.util
import json
import re
import runpy
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from support.scripts import script

SCRIPT = Path(__file__).parents[2] / "workloads" / "pairwise_clustering" / "picture.py"


def test_every_point_is_drawn_in_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("point,cluster,x,y,z\n0,0,1,0,0\n1,0,0,2,0\n2,1,0,0,-4\n")
    assert script(SCRIPT, str(tmp_path)).returncode == 0
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    found = re.search(r"points = (\[\[.*?\]\]),", (tmp_path / "picture.html").read_text())
    assert found is not None
    assert json.loads(found[1]) == [[0.25, 0.0, 0.0, 0], [0.0, 0.5, 0.0, 0], [0.0, 0.0, -1.0, 1]]


def drawn(folder: Path, *options: str) -> CompletedProcess[str]:
    return script(SCRIPT, str(folder), *options)


def clustered(folder: Path) -> np.ndarray:
    """Two clusters of points in space, with classical places that are off; their squared distances."""
    random = np.random.default_rng(1)
    truth = random.normal(size=(40, 3)) + 8 * (np.arange(40)[:, None] >= 20)
    lines = [
        f"{k},{int(k >= 20)},{x},{y},{z}" for k, (x, y, z) in enumerate(truth + random.normal(0, 0.3, truth.shape))
    ]
    (folder / "labels.csv").write_text("\n".join(["point,cluster,x,y,z", *lines]))
    distances: np.ndarray = ((truth[:, None] - truth[None]) ** 2).sum(axis=-1)
    np.save(folder / "d.npy", distances)
    return distances


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is an optional extra")
def test_smacof_keeps_distances_better_than_the_places_it_began_with(tmp_path: Path) -> None:
    distances = np.sqrt(clustered(tmp_path))
    done = drawn(tmp_path, "--smacof", str(tmp_path / "d.npy"))
    assert done.returncode == 0, done.stderr
    found = re.search(r"points = (\[\[.*?\]\]),", (tmp_path / "picture.html").read_text())
    assert found is not None
    places = np.array(json.loads(found[1]))[:, :3]
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))
    assert np.corrcoef(apart.ravel(), distances.ravel())[0, 1] > 0.9999


def test_a_point_finds_its_place_by_its_distances_to_landmarks() -> None:
    """As do all beyond 3,000 points, of which SMACOF places the landmarks alone."""
    picture = runpy.run_path(str(SCRIPT))
    random = np.random.default_rng(1)
    known, truth = random.normal(size=(40, 3)), random.normal(size=(7, 3))
    lengths = np.sqrt(((truth[:, None] - known[None]) ** 2).sum(axis=-1))
    begun = truth + random.normal(0, 0.5, truth.shape)
    found = picture["among"](known, lengths, begun)
    assert np.abs(found - truth).max() < 0.05 < np.abs(begun - truth).max()


def test_one_command_clusters_places_and_draws(tmp_path: Path) -> None:
    done = drawn(tmp_path / "new", "--", "--points", "40", "--planted", "2", "--clusters", "2")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "new").iterdir()} >= {"labels.csv", "picture.png", "picture.html"}
    assert drawn(tmp_path / "new", "--", "--points", "none").returncode == 2


def test_a_matrix_of_other_points_is_refused(tmp_path: Path) -> None:
    clustered(tmp_path)
    np.save(tmp_path / "d.npy", np.zeros((3, 3)))
    done = drawn(tmp_path, "--smacof", str(tmp_path / "d.npy"))
    assert done.returncode == 2 and "shape (3, 3), not 40 x 40; give the matrix that was clustered" in done.stderr


def test_a_report_gets_the_cloud_once(tmp_path: Path) -> None:
    clustered(tmp_path)
    report = tmp_path / "report.html"
    report.write_text("<html><body><main>said</main></body></html>")
    for _ in range(2):
        assert drawn(tmp_path, "--into", str(report)).returncode == 0
    page = report.read_text()
    assert page.count('id="clusters"') == 1 and page.count("</body>") == 1 and "<main>said</main>" in page
    report.write_text("plain")
    assert drawn(tmp_path, "--into", str(report)).returncode == 2
