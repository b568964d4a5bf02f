# SPDX-License-Identifier: Apache-2.0
"""`predict` from the command line: a forecast with its model and its reach, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from corescale.errors import ExitCode
from corescale.observe.launchers.mpi import Mpi
from corescale.records import Layout
from support.commands import corescale, refused
from support.runs import FIXTURES


def test_a_forecast_names_model_and_reach(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--cores", "8", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    said = "MODE=a: 8 cores: looks like 211 ms, extrapolated 4 times beyond the 2 measured, no interval: "
    assert done.stdout.startswith(said)


def test_of_what_was_measured_the_time_is_said_beside_the_model(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--cores", "2", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == ExitCode.OK and [one["p"] for one in found] == [2, 2], done.stderr
    assert all(one["there"]["low"] <= one["there"]["estimate"] <= one["there"]["high"] for one in found)
    said = corescale("predict", str(FIXTURES["scan"]), "--cores", "2", cwd=tmp_path).stdout
    assert (
        said.startswith("MODE=a: 2 cores: measured ") and "\n  the model gives " in said and "extrapolated" not in said
    )


def test_what_threads_took_on_fewer_cores_is_said_beside_a_forecast_for_as_many(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--cores", "4", cwd=tmp_path)
    assert done.stdout.count("\n  p = 4, oversubscribed, took ") == 2, done.stderr
    assert not re.search(r"(\w+): \1 ", done.stdout), "a model is named once"


def test_far_beyond_what_was_measured_it_wants_to_be_told(tmp_path: Path) -> None:
    far = corescale("predict", str(FIXTURES["scan"]), "--cores", "64", cwd=tmp_path)
    refused(far, ExitCode.USAGE, "64 cores are 32 times the 2 that were measured; measure more cores, or give --anyway")
    assert corescale("predict", str(FIXTURES["scan"]), "--cores", "64", "--anyway", cwd=tmp_path).returncode == 3


def test_a_track_record_without_forecasts_says_what_a_run_needs(tmp_path: Path) -> None:
    done = corescale("predict", str(FIXTURES["scan"]), "--track-record", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    assert done.stdout == "no forecast to score: a run needs 4 levels of p up to half of its largest, and 6 blocks\n"


def test_at_another_confidence_it_says_what_that_takes(tmp_path: Path) -> None:
    run = str(scanned(tmp_path, "-r", "8", "-t", "1,2", "--confidence", "99%"))
    said = corescale("predict", run, "--cores", "4", cwd=tmp_path)
    assert "no interval: that takes 4 levels of p (fake)\n" in said.stdout, said.stderr
    record = corescale("predict", run, "--track-record", cwd=tmp_path)
    assert record.stdout.endswith("up to half of its largest, and 8 blocks\n"), record.stderr
    asked = ("predict", run, "--cores", "1", "--model", "amdahl")
    assert "] at 99%\n" in corescale(*asked, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("runs", "levels", "cores", "lacks"),
    [("2", "1,2", "4", "6 blocks and 4 levels of p"), ("2", "1,2,4,8", "16", "6 blocks"), ("2", "1,4", "2", "6 blocks"),
     ("6", "1,2", "4", "4 levels of p")],
)  # fmt: skip
def test_only_what_lacks_for_an_interval_is_named(
    runs: str, levels: str, cores: str, lacks: str, tmp_path: Path
) -> None:
    run = on_eight_cores(scanned(tmp_path, "-r", runs, "-t", levels))
    said = corescale("predict", str(run), "--cores", cores, cwd=tmp_path).stdout
    assert f", no interval: that takes {lacks} (fake)\n" in said, said


def test_of_several_runs_each_line_names_its_own(tmp_path: Path) -> None:
    run = str(scanned(tmp_path, "-r", "6", "-t", "1,2"))
    for asked in (("--cores", "4"), ("--layouts", "1x2x1")):
        one, two = (corescale("predict", *runs, *asked, cwd=tmp_path).stdout for runs in ([run], [run, run]))
        lines = [line for line in two.splitlines() if not line.startswith("  ")]
        assert len(lines) >= 2 and all(line.startswith(f"{run}: ") for line in lines), two
        assert run not in one


def test_other_runs_and_empty_requests_are_refused(tmp_path: Path) -> None:
    refused(
        corescale("predict", str(FIXTURES["tune"]), "--cores", "4", cwd=tmp_path),
        ExitCode.STORE,
        "is not a run of scan",
    )
    refused(
        corescale("predict", str(FIXTURES["scan"]), cwd=tmp_path), ExitCode.USAGE, "give --cores P or --track-record"
    )
    refused(corescale("predict", "nowhere", "--cores", "4", cwd=tmp_path), ExitCode.STORE, "nowhere")


LANDSCAPE = "base = 2.0\nserial = 0.1\n[noise]\nsize = 0.01\n"


def scanned(folder: Path, *options: str) -> Path:
    (folder / "landscape.toml").write_text(LANDSCAPE)
    fake = ("--on", "fake", "--landscape", "landscape.toml")
    done = corescale("scan", *fake, *options, "-q", "--budget", "none", "--", "x", "{threads}", cwd=folder)
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), done.stderr
    (made,) = folder.glob("corescale-runs/scan-*/1")
    return made


def on_eight_cores(run: Path) -> Path:
    """The run, none of whose launches had more threads than cores."""
    records = (run / "records.jsonl").read_text()
    (run / "records.jsonl").write_text(re.sub(r'("oversubscribed": ?)true', r"\1false", records))
    return run


def test_a_sealed_forecast_comes_before_the_largest_p_and_is_scored(tmp_path: Path) -> None:
    run = scanned(tmp_path, "--seal", "-r", "8", "-t", "1,2,3,4,8")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    made = [dict(line["configuration"]["levels"])["threads"] for line in lines if "configuration" in line]
    sealed = json.loads((run / "sealed.json").read_text())
    assert sealed["launches"] == 8 * 4 and set(made[:32]) == {1, 2, 3, 4} and made[32:].count(8) == 8
    done = corescale("predict", str(run), "--track-record", cwd=tmp_path)
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), "8 threads count on as many cores"
    most = int(sealed["forecasts"][0]["from"])
    assert done.stdout.startswith(f"8 cores from up to {most}, sealed: ") and re.search(
        r"measured 4\d\d ms", done.stdout
    )


def test_layouts_share_a_model_and_come_with_the_fastest_first(tmp_path: Path) -> None:
    """Amdahl's law is f = serial (p - 1), whatever makes p: 2 (0.1 + 0.9 / p) seconds."""
    run = scanned(tmp_path, "--oversubscribe", "-r", "8", "-f", "layout=1x1x1,2x1x1,1x2x1,1x3x1,4x1x1")
    on_eight_cores(run)
    done = corescale("predict", str(run), "--layouts", "2x1x1,2x2x1", "--overhead", "p - 1", "--json", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    found = {one["layout"]: one["seconds"] for one in json.loads(done.stdout)}
    assert list(found) == ["2x2x1", "2x1x1"]
    for name, truth in {"2x1x1": 1.1, "2x2x1": 0.65}.items():
        assert found[name]["low"] < truth < found[name]["high"] < 1.3 * found[name]["low"]
    said = corescale("predict", str(run), "--layouts", "4x2x1", cwd=tmp_path).stdout
    assert "4x2x1" in said and "extrapolated 2 times beyond the 4 measured" in said and "model f = " in said
    refused(corescale("predict", str(run), "--layouts", "4x4", cwd=tmp_path), ExitCode.USAGE, "write TxMxN")
    done = corescale("predict", str(run), "--layouts", "1x1x2", "--overhead", "nodes - 1", cwd=tmp_path)
    refused(done, ExitCode.USAGE, "--overhead: no fit: nodes - 1 is 0 in every configuration; scan more levels")


@pytest.mark.skipif(Mpi.cannot(Layout()) is not None, reason="no Open MPI")
def test_forecasts_of_a_model_are_graded_by_launches_of_the_same_program(tmp_path: Path) -> None:
    """It says that two threads take half of the time, and two ranks no less. Three nodes are not here."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nawk -v t=$1 \'BEGIN { printf "{\\"seconds\\": %g}\\n", 1 / t }\'\n')
    program.chmod(0o755)
    words = ("-f", "layout=1x1x1,2x1x1,1x2x1", "-r", "2", "-q", "--response", "metric:seconds", "--", "./program")
    assert corescale("scan", "--on", "mpi", *words, "{threads}", cwd=tmp_path).returncode == ExitCode.INCONCLUSIVE
    (run,) = tmp_path.glob("corescale-runs/scan-*/1")
    asked = ("predict", str(run), "--layouts", "1x1x1,2x1x1,1x1x3", "--overhead", "ranks - 1", "--grade", "mpi")
    done = corescale(*asked, "--json", "--out", "graded", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stderr
    found = {one["layout"]: one for one in json.loads(done.stdout)}
    assert "launched" not in found["1x1x3"]
    for name, seconds in {"1x1x1": 1.0, "2x1x1": 0.5}.items():
        one = found[name]
        assert one["launched"] == seconds
        assert one["error"] == pytest.approx(one["seconds"]["estimate"] / seconds - 1)
    said = corescale(*asked, "--out", "again", cwd=tmp_path).stdout
    assert "; measured 0.5 s, error " in said
    assert re.search(
        r"typical error \d+% of 2 layouts, each launched 3 times by mpi \(medians\); of these 2x1x1 ", said
    )
    (graded,) = (tmp_path / "graded").glob("scan-*/1/records.jsonl")
    assert graded.read_text().count('"measure"') == 2 * 3
    assert len([*tmp_path.glob("corescale-runs/*/[0-9]")]) == 1


def test_what_cannot_be_graded_is_refused_before_anything_is_launched(tmp_path: Path) -> None:
    run = scanned(tmp_path, "-r", "6", "-t", "1,2", "-f", "MODE=a,b")
    asked = ("predict", str(run), "--layouts", "1x1x1")
    refused(
        corescale(*asked, "--grade", "mpi", cwd=tmp_path),
        ExitCode.USAGE,
        "is a fake run, and --grade launches a real program; leave out --grade",
    )
    refused(
        corescale(*asked, "--grade", "mpi", "--hosts", "x", cwd=tmp_path),
        ExitCode.USAGE,
        "--hosts: only the ssh launcher takes it; add --grade ssh",
    )
    refused(corescale(*asked, "--hosts", "x", cwd=tmp_path), ExitCode.USAGE, "--hosts: no effect without --grade")
    refused(corescale(*asked, "--out", "x", cwd=tmp_path), ExitCode.USAGE, "--out: no effect without --grade")
    assert len([*tmp_path.glob("corescale-runs/*/[0-9]")]) == 1


@pytest.mark.parametrize("asked", ["--layouts=1x2x1", "--layouts=4x1x1", "--cores=4"])
def test_a_sum_from_two_levels_has_no_interval_for_what_was_not_measured(tmp_path: Path, asked: str) -> None:
    run = scanned(tmp_path, "-r", "8", "-t", "1,2")
    done = corescale("predict", str(run), asked, "--overhead", "p - 1", "--json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)
    assert found["seconds"]["low"] is None and done.returncode == ExitCode.INCONCLUSIVE
    said = corescale("predict", str(run), asked, "--overhead", "p - 1", cwd=tmp_path)
    assert "no interval: that takes" in said.stdout


def test_a_seal_that_was_touched_is_refused(tmp_path: Path) -> None:
    run = scanned(tmp_path, "--seal", "-r", "6", "-t", "1,2,4")
    sealed = json.loads((run / "sealed.json").read_text())
    for launches, says in ((sealed["launches"] + 3, "changed after it was sealed"), (float("inf"), "is damaged")):
        (run / "sealed.json").write_text(json.dumps(sealed | {"launches": launches}))
        done = corescale("predict", str(run), "--track-record", cwd=tmp_path)
        refused(done, ExitCode.STORE, says)


def test_what_cannot_be_sealed_is_refused(tmp_path: Path) -> None:
    few = corescale("scan", "--seal", "-t", "1,2", "--", "true", cwd=tmp_path)
    refused(few, ExitCode.USAGE, "p = 1, 2 leaves nothing to forecast from; scan at least p = 1, 2 and 4")
    warm = corescale("scan", "--seal", "-w", "1", "-t", "1,2,4", "--", "true", cwd=tmp_path)
    refused(warm, ExitCode.USAGE, "launch other configurations before the forecast is sealed; leave them out")


def test_a_real_program_is_sealed_before_its_largest_p(tmp_path: Path) -> None:
    command = ("unit_task", "--threads", "{threads}", "--repeat-for", "1")
    done = corescale("scan", "--seal", "-r", "6", "-t", "1,2,4", "-q", "--", *command, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    (run,) = tmp_path.glob("corescale-runs/scan-*/1")
    said = corescale("predict", str(run), "--track-record", cwd=tmp_path)
    assert said.stdout.startswith("4 cores from up to 2, sealed: "), said.stdout + said.stderr


def test_models_that_are_asked_for(tmp_path: Path) -> None:
    run = str(on_eight_cores(scanned(tmp_path, "-r", "6", "-t", "1,2,4,8")))
    amdahl = corescale("predict", run, "--cores", "8", "--model", "amdahl", cwd=tmp_path)
    assert "  model amdahl, as asked for" in amdahl.stdout, amdahl.stderr
    over = corescale("predict", run, "--cores", "8", "--overhead", "p", "--overhead", "p + p * p", cwd=tmp_path)
    assert over.returncode == ExitCode.OK and "  model f = p" in over.stdout, over.stderr
    refused(corescale("predict", run, "--cores", "4", "--model", "x", cwd=tmp_path), ExitCode.USAGE, "no model 'x'")
    few = corescale("predict", str(FIXTURES["scan"]), "--cores", "4", "--model", "normal-form", cwd=tmp_path)
    refused(few, ExitCode.USAGE, "2 levels of p cannot choose a normal form; measure at least 4")


def test_a_sum_that_the_run_refutes_says_so_as_a_model_does(tmp_path: Path) -> None:
    """Amdahl's overhead is serial (p - 1), which p - 1 fits and p * p does not. A measured p has its measured time."""
    run = str(on_eight_cores(scanned(tmp_path, "-r", "8", "-t", "1,2,4,8")))
    off = re.compile(r"warning: at p=\d the model is [\d.]+% off the measured time, more than the noise")
    for asked in (("--cores", "8"), ("--cores", "16"), ("--layouts", "16x1x1")):
        wrong, right = (
            corescale("predict", run, *asked, "--overhead", formula, cwd=tmp_path) for formula in ("p * p", "p - 1")
        )
        assert off.search(wrong.stdout), wrong.stdout + wrong.stderr
        assert right.returncode == ExitCode.OK and "warning" not in right.stdout, right.stdout + right.stderr
    measured = corescale("predict", run, "--cores", "8", "--overhead", "p * p", cwd=tmp_path)
    assert measured.stdout.startswith("8 cores: measured 42") and "\n  the model gives " in measured.stdout


def test_forecasts_of_a_sum_are_scored_too(tmp_path: Path) -> None:
    run = on_eight_cores(scanned(tmp_path, "-r", "6", "-t", "1,2,3,4,8"))
    done = corescale("predict", str(run), "--track-record", "--overhead", "p", cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    first, last = done.stdout.splitlines()
    assert first.startswith("8 cores from up to 4, afterwards: ")
    assert re.search(r"of 1 forecasts covered what was measured; half of their intervals span a factor of \d", last)
    model = corescale("predict", str(run), "--track-record", "--model", "usl", cwd=tmp_path)
    refused(model, ExitCode.USAGE, "a track record is of the model chosen")
