# SPDX-License-Identifier: Apache-2.0
"""What a plain `tune` tries, and what a dry run says of it."""

import dataclasses
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from corescale.declare import command_line, factors
from corescale.declare.catalogue import settings, space
from corescale.declare.grid import baseline, configurations
from corescale.declare.request import ScanRequest, TuneRequest
from corescale.errors import ExitCode
from corescale.machine import Machine
from support import sanitizers
from support.commands import answered, corescale, refused
from support.trees import RECORDED, recorded


def test_a_plain_tune_tries_what_can_matter_and_no_launch_twice(two_cores: Machine) -> None:
    experiment = command_line.tune(TuneRequest(), ["true", "{threads}"], two_cores)
    names = [factor.name for factor in experiment.factors]
    assert names[:2] == ["threads", "allocator"]
    assert names[-1] == "MALLOC_ARENA_MAX"
    found = configurations(experiment)
    assert len(found) <= space.MOST
    assert all(c["MALLOC_ARENA_MAX"] == "inherited" for c in found if c["allocator"] != "system" or c.layout.p == 1)
    assert len(set(found)) == len(found)
    assert found[0] == baseline(experiment)
    assert any("not linked with OpenMP" in reason for reason in experiment.left_out)
    assert [f.name for f in command_line.tune(TuneRequest(threads="1,2"), ["true"], two_cores).factors] == ["threads"]


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("quota", [None, 3.5])
def test_a_plain_tune_fits_every_machine_and_names_what_did_not_fit(
    tmp_path: Path, name: str, quota: float | None
) -> None:
    cpus = recorded(tmp_path, name)
    allowed = tuple(cpu.cpu for cpu in cpus)
    machine = dataclasses.replace(Machine.here(), cpus=cpus, affinity=allowed, quota_cores=quota)
    program = linked_with_openmp(tmp_path)
    experiment = command_line.tune(TuneRequest(), [program], machine)
    names = [factor.name for factor in experiment.factors]
    assert names[0] == "threads"
    assert len(configurations(experiment)) <= space.MOST
    told = " / ".join(experiment.left_out)
    assert all(
        name in names or re.search(rf"\b{name}\b", told)
        for name in space.usual([program], space.no_preload([program]))[0]
    )
    assert "numa" not in names or len({cpu.numa_node for cpu in cpus}) > 1


def linked_with_openmp(folder: Path) -> str:
    program = folder / "openmp"
    program.write_bytes(Path("/bin/true").read_bytes() + b"\0libgomp.so.1\0")
    program.chmod(0o755)
    return str(program)


def of_another_user(program: Path) -> None:
    """Sets its user id, and gives it to nobody: a program of the same user has no other rights."""
    if os.getuid() != 0:
        pytest.skip("only root gives a file away")
    os.chown(program, 65534, -1)
    program.chmod(0o4755)


def test_placement_and_waiting_are_tried_with_openmp_and_allocators_only_where_they_can_be_loaded(
    tmp_path: Path, two_cores: Machine
) -> None:
    program = Path(linked_with_openmp(tmp_path))
    known = [
        name
        for name in space.USUAL
        if name not in settings.SETTINGS or not settings.unavailable(settings.SETTINGS[name])
    ]
    assert space.usual([str(program)], space.no_preload([str(program)]))[0] == tuple(known)
    experiment = command_line.tune(TuneRequest(), [str(program)], two_cores)
    one = [c for c in configurations(experiment) if c.layout.p == 1]
    assert {(c["bind"], c["OMP_WAIT_POLICY"]) for c in one} == {("inherited", "inherited")}
    of_another_user(program)
    kept, left_out = space.usual([str(program)], space.no_preload([str(program)]))
    assert "allocator" not in kept
    assert any("set-user-id" in reason for reason in left_out)


def script_of_a_static_program(folder: Path) -> Path:
    """What can only be known of it by launching it."""
    (folder / "s.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(100)); return 0; }\n")
    subprocess.run(["cc", "-static", "-o", "built", "s.c"], cwd=folder, check=True)
    script = folder / "script.sh"
    script.write_text("#!/bin/sh\nexec ./built\n")
    script.chmod(0o755)
    return script


def test_allocators_that_a_launch_shows_to_be_of_no_use_are_left_out_where_nobody_asked_for_them(
    tmp_path: Path,
) -> None:
    if not [level for level in factors.KINDS["allocator"].auto("allocator", Machine.here())[0] if level != "system"]:
        pytest.skip("no other allocator is here")
    words = ["--budget", "30x", "--confirm", "2", "--", str(script_of_a_static_program(tmp_path))]
    done = corescale("tune", "--json", *words, cwd=tmp_path)
    answered(done)
    assert re.search(r"note: without other allocators: lib\w+.* is not in the program: .*built is linked", done.stderr)
    found = json.loads(done.stdout)
    assert not any(
        "allocator" in c["levels"] or "MALLOC_CONF" in c["levels"] for c in found["conclusion"]["candidates"]
    )
    assert any(re.match(r"allocator: .*built is linked statically", reason) for reason in found["left_out"])
    auto = corescale("tune", "-q", "--allocators", "auto", *words, cwd=tmp_path)
    assert auto.returncode == ExitCode.PRELOAD, auto.stderr
    assert "--allocators auto tries" not in auto.stdout
    assert re.search(r"left out: allocators: .* is linked statically", " ".join(auto.stdout.split()))
    named = corescale("tune", "-q", "--allocators", "system,jemalloc", *words, cwd=tmp_path)
    refused(named, ExitCode.PRELOAD, "is linked statically")


@pytest.mark.parametrize("reads", [True, False], ids=["its user's", "set-user-id"])
def test_a_static_program_has_what_it_reads_of_the_c_librarys_settings(tmp_path: Path, reads: bool) -> None:
    script_of_a_static_program(tmp_path)
    if not reads:
        of_another_user(tmp_path / "built")
    names, left_out = space.usual([str(tmp_path / "built")], space.no_preload([str(tmp_path / "built")]))
    assert ("GLIBC_TUNABLES" in names, "MALLOC_ARENA_MAX" in names) == (reads, reads)
    assert not {"allocator", "MALLOC_CONF"} & set(names)
    assert any(reason.startswith("allocator: ") for reason in left_out)


@sanitizers.SANITIZERS
def test_nothing_is_preloaded_before_gccs_sanitizers(option: str, name: str, tmp_path: Path) -> None:
    program = sanitizers.built(tmp_path, option, "")
    names, left_out = space.usual([str(program)], space.no_preload([str(program)]))
    assert "allocator" not in names
    assert any(name in reason for reason in left_out)
    named = corescale("tune", "-q", "-f", "allocator=system,corescale", "--", str(program), cwd=tmp_path)
    refused(named, ExitCode.PRELOAD, f"built is built with {name}")
    alone = corescale("tune", "--dry-run", "-f", "allocator=system", "--", str(program), cwd=tmp_path)
    assert alone.returncode == ExitCode.OK
    if option == "address":  # behind another program only the launch shows it
        behind = corescale("tune", "-q", "-f", "allocator=system,corescale", "--", "env", str(program), cwd=tmp_path)
        refused(behind, ExitCode.PRELOAD, "it is built with a sanitizer")


def test_what_would_make_too_many_configurations_is_left_to_be_asked_for(
    tmp_path: Path, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "MOST", 2)
    experiment = command_line.tune(TuneRequest(), ["true", "{threads}"], two_cores)
    assert [factor.name for factor in experiment.factors] == ["threads"]
    reasons = " / ".join(experiment.left_out)
    assert "allocator: more than 2 configurations; to try it -f allocator=auto" in reasons
    assert "MALLOC_ARENA_MAX: more than 2 configurations; to try it -f MALLOC_ARENA_MAX=auto" in reasons


def dry(folder: Path, *words: str) -> str:
    done = corescale(*words, cwd=folder)
    assert done.returncode == ExitCode.OK, done.stderr
    return done.stdout


def test_a_dry_run_prints_the_space_and_how_to_know_its_time_and_launches_nothing(tmp_path: Path) -> None:
    shown = dry(tmp_path, "tune", "--dry-run", "--", "touch", "launched")
    number = r"about \d+ to \d+ launches \(more where times are noisy\)(, of them \d+ to prove allocators)?"
    assert re.search(rf"\d+ configurations: {number}\n", shown)
    assert "for each second that a launch takes, at most 5 min (--budget); no run in" in shown
    assert "no run in corescale-runs has the baseline yet: --budget 28x instead" in shown
    assert "left out: bind, OMP_WAIT_POLICY: touch is not linked with OpenMP" in shown
    assert not list(tmp_path.iterdir())
    assert "note: the program" not in shown
    refused(corescale("tune", "--dry-run", "--", "no-such-one", cwd=tmp_path), ExitCode.PROGRAM, "no such program")


def seconds(duration: str) -> float:
    return sum(float(n) * {"s": 1, "min": 60}[unit] for n, unit in re.findall(r"([\d.]+) (s|min)", duration))


def test_a_dry_run_knows_the_time_of_a_launch_from_runs_of_any_verb_on_this_machine(tmp_path: Path) -> None:
    """What counts is the line that was launched, but not on another machine or with another input."""
    words = ["-r", "2", "-t", "1", "--out", "kept", "--", "sleep", "0.05"]
    dry(tmp_path, "scan", "-q", *words)
    run = next((tmp_path / "kept").glob("scan-*/1"))
    tune = ["tune", "--dry-run", "-t", "1", "--baseline", "threads=1", "-f", "MODE=inherited,a,b"]
    known = dry(tmp_path, *tune, "--budget", "100s", "--out", "kept", "--", "sleep", "0.05")
    found = re.search(
        r"about (\d+) to (\d+) launches .*\ntime: (.*) to (.*), at most 1 min 40 s \(--budget\); the baseline"
        r" took (\S+) s \(median of 2 in kept/\), and (\S+) s between two launches",
        known,
    )
    assert found, known
    one, pause = float(found[5]), float(found[6])
    assert 0.05 <= one < 1
    for launches, said in ((found[1], found[3]), (found[2], found[4])):
        assert seconds(said) == pytest.approx(int(launches) * (one + pause), rel=0.1, abs=1)
    (tmp_path / "empty").touch()
    for other in (["--", "sleep", "0.06"], ["--input", "empty", "--", "sleep", "0.05"]):
        assert "no run in kept has the baseline" in dry(tmp_path, *tune, "--out", "kept", *other)
    (run / "environment.json").write_text(
        (run / "environment.json").read_text().replace('"fingerprint": "', '"fingerprint": "0')
    )
    assert "no run in kept has the baseline" in dry(tmp_path, *tune, "--out", "kept", "--", "sleep", "0.05")
    (run / "plan.json").write_text("torn")
    assert "no run in kept has the baseline" in dry(tmp_path, *tune, "--out", "kept", "--", "sleep", "0.05")


@pytest.mark.parametrize("words", [["scan", "-t", "1"], ["compare", "sleep 0.03"]])
def test_the_way_to_know_the_time_makes_it_known(tmp_path: Path, words: list[str]) -> None:
    command = ["sleep 0.02"] if words[0] == "compare" else ["--", "sleep", "0.02"]
    assert "-r 1 instead of --dry-run measures it" in dry(tmp_path, *words, "--dry-run", *command)
    one = corescale(*words, "-q", "-r", "1", *command, cwd=tmp_path)
    assert one.returncode == (ExitCode.INCONCLUSIVE if words[0] == "compare" else ExitCode.OK)
    assert "median of 1 in corescale-runs/" in dry(tmp_path, *words, "--dry-run", *command)


def test_a_first_answer_of_a_race_makes_its_time_known(tmp_path: Path) -> None:
    command = ["-t", "1", "-f", "MODE=a,b", "--", "sleep", "0.02"]
    answered(corescale("tune", "-q", "--budget", "20x", *command, cwd=tmp_path))
    assert re.search(r"the baseline took 0\.0\d+ s \(median of \d+ in", dry(tmp_path, "tune", "--dry-run", *command))


def test_a_scan_keeps_every_combination(two_cores: Machine) -> None:
    """Its curves need one thread at every level of the other factors."""
    threads, factor = "1,2", ["bind=inherited,close:cores"]
    tuned = command_line.tune(TuneRequest(threads=threads, factor=factor), ["x"], two_cores)
    scanned = command_line.scan(ScanRequest(threads=threads, factor=factor), ["x"], two_cores)
    assert (len(configurations(tuned)), len(configurations(scanned))) == (3, 4)
    unknown = tuned.model_copy(update={"factors": tuned.factors[1:]})
    assert len(configurations(unknown)) == 2, "without a factor of threads nobody knows that there is one"
