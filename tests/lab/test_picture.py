# SPDX-License-Identifier: Apache-2.0
"""The picture of the clusters: a PNG, and a page whose points are those of the table."""

import json
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "workloads" / "pairwise_clustering" / "picture.py"


def test_every_point_is_drawn_in_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("point,cluster,x,y,z\n0,0,1,0,0\n1,0,0,2,0\n2,1,0,0,-4\n")
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], check=True, timeout=120)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    found = re.search(r"points = (\[\[.*?\]\]),", (tmp_path / "picture.html").read_text())
    assert found is not None
    assert json.loads(found[1]) == [[0.25, 0.0, 0.0, 0], [0.0, 0.5, 0.0, 0], [0.0, 0.0, -1.0, 1]]
