# SPDX-License-Identifier: Apache-2.0
"""--jobs: launches at once on CPUs of their own, or one line with the figure."""

from pathlib import Path

import pytest

import corescale
from corescale.api import interference
from corescale.errors import InconclusiveError, UsageError
from corescale.machine import Machine

pytestmark = pytest.mark.skipif(len(Machine.here().affinity) < 2, reason="needs two CPUs")

COUNTS = "mkdir here.$$; sleep 0.1; ls -d here.* | wc -l >>seen; rmdir here.$$"
"""how many run at once, as each of them sees it"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_launches_run_at_once_on_different_cpus_and_every_record_is_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interference, "MARGIN", 1e6)
    levels = {"s": ["1", "2"]}
    made = corescale.scan(["sh", "-c", f": {{s}}; {COUNTS}"], jobs=2, threads=[1], factor=levels, runs=2)
    assert [record.status for record in made.result.records if record.timed] == ["ok"] * 4
    assert "2" in (place / "seen").read_text().split()
    cpus = {process.affinity for record in made.result.records for process in record.processes}
    assert cpus == {(cpu,) for cpu in Machine.here().affinity[:2]}
    assert {record.noise.foreign for record in made.result.records} == {None}, "a neighbour is no other program"


def test_launches_at_once_write_one_output_file_one_after_the_other(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interference, "MARGIN", 1e6)
    writes = f"echo {{s}}; {COUNTS}; echo {{s}}"
    (place / "out").touch(0o600)
    corescale.scan(["sh", "-c", writes], jobs=2, threads=[1], factor={"s": ["1", "2"]}, runs=2, output="out")
    assert "2" in (place / "seen").read_text().split()
    assert (place / "out").read_text() in ("1\n1\n", "2\n2\n")
    assert (place / "out").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in place.iterdir()} == {"corescale-runs", "out", "seen"}


def test_neighbours_that_disturb_are_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "MARGIN", -1.0)
    monkeypatch.setattr(interference, "PAIRS", 6)
    with pytest.raises(InconclusiveError, match=r"--jobs: beside 1 neighbour a launch takes [\d.]+ \[.*\] of its time"):
        corescale.scan(["true"], jobs=2, threads=[1], runs=1)


def test_neighbours_are_launched_at_once_before_they_are_judged(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second launch of the pairs runs next to a copy."""
    monkeypatch.setattr(interference, "MARGIN", -1.0)
    monkeypatch.setattr(interference, "PAIRS", 6)
    with pytest.raises(InconclusiveError):
        corescale.scan(["sh", "-c", COUNTS], jobs=2, threads=[1], runs=1)
    seen = (place / "seen").read_text().split()
    assert len(seen) == 6 * 3
    assert seen.count("2") > 3


def test_a_response_of_0_is_refused() -> None:
    with pytest.raises(UsageError, match=r"metric:z: it is not above 0 .*; leave --jobs out") as raised:
        corescale.scan(["sh", "-c", "echo '{\"z\": 0}'"], jobs=2, threads=[1], runs=1, response="metric:z")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jobs": 0}, "--jobs: 0 launches at once"),
        ({"jobs": 2, "threads": [1, 10_000]}, r"2 launches of up to 10000 threads .* \d+ usable CPUs"),
        ({"jobs": 2, "prepare": "true"}, "--jobs: --prepare .*; leave --jobs out"),
        ({"jobs": 2, "factor": {"affinity": ["0"]}, "threads": [1]}, "--jobs: .* CPUs; leave --jobs out"),
    ],
)
def test_what_cannot_be_beside_another_is_one_line(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        corescale.scan(["true", "{threads}"], runs=1, **options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
