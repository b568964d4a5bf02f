# SPDX-License-Identifier: Apache-2.0
"""What the profiler sees of OpenMP, next to what LLVM's runtime says of the same launch to a tool (OMPT)."""

import os
from pathlib import Path

import pytest

from corescale import native
from support.profiles import Seen, faultless, see, undisturbed

TOOL = Path(native.find("known_truth")).parents[1] / "lib/libompt_tool.so"
SECOND = "0.5"
POINTS = 0.03
"""of the launch's time"""

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="built only where clang, libomp and omp-tools.h are"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]


@pytest.mark.parametrize(("part", "regions"), [("imbalance", 1), ("slow", 1), ("regions", 5000)])
def test_the_runtime_says_the_same_of_regions_and_waits(
    part: str, regions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first thread waits at the ends of regions. For the profiler a worker is in its pool then."""
    said = tmp_path / "said"
    monkeypatch.setenv("OMP_TOOL_LIBRARIES", str(TOOL))
    monkeypatch.setenv("CORESCALE_OMPT", str(said))

    def launch() -> Seen:
        with undisturbed() as first:
            return see(*first, str(native.find("known_truth_libomp")), part, "openmp", "2", SECOND, threads=2)

    def wrong(seen: Seen) -> dict[str, float]:
        count, *lines = said.read_text().splitlines()
        assert int(count) == sum(one.calls for one in seen.profile.regions) == regions
        waited = {int(thread): float(seconds) for thread, seconds in map(str.split, lines)}
        assert {one.id for one in seen.profile.threads if {"pooled", "barrier"} & {*one.spent}} == {*waited}
        return {
            str(one.id): one.spent.get(state, 0.0) - waited[one.id]
            for one, state in zip(seen.profile.threads, ("barrier", "pooled"), strict=False)
            if abs(one.spent.get(state, 0.0) - waited[one.id]) > POINTS * seen.profile.wall
        }

    faultless(launch, wrong)
