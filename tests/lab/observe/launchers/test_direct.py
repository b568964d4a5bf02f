# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one launcher, by real programs)
"""The launcher of one rank: what its programs see, and what is recorded of them."""

import contextlib
import functools
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from corescale.conclude.warnings import warnings
from corescale.declare import command_line, grid, plan
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.declare.grid import baseline, configurations
from corescale.declare.plan import Block
from corescale.declare.request import ScanRequest
from corescale.errors import ProgramError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import scratch, store
from corescale.observe.launchers.direct import Direct
from corescale.observe.run import run
from corescale.observe.spawn.spawner import SpawnRequest
from corescale.records import Configuration, Phase, Record
from support.policies import blocks
from support.processes import eventually

Make = Callable[..., Experiment]


# ---- direct


def direct(e: Experiment, machine: Machine, count: int = 1, notes: list[str] | None = None) -> Sequence[Record]:
    return run(e, store.Memory(), Direct(e, machine), blocks(e, count))


def test_a_command_that_is_not_found_says_where_it_was_looked_for(experiment: Make, two_cores: Machine) -> None:
    with pytest.raises(ProgramError, match="no folder of PATH has it: check the spelling, or give its path"):
        direct(experiment("no-such-program"), two_cores)
    with pytest.raises(ProgramError, match=r"\./nothing: no such file; looked for /.*/nothing"):
        direct(experiment("./nothing"), two_cores)
    with pytest.raises(ProgramError, match="/etc/passwd: is not a program; write what reads it first"):
        direct(experiment("/etc/passwd"), two_cores)
    with pytest.raises(ProgramError, match="is a folder"):
        direct(experiment("/etc"), two_cores)


def test_what_a_configuration_becomes_is_built_once(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[object] = []
    launch = grid.launch

    def counted(e: Experiment, chosen: Configuration, machine: Machine, phase: Phase) -> Launch:
        built.append(chosen)
        return launch(e, chosen, machine, phase)

    monkeypatch.setattr(grid, "launch", counted)
    made = direct(experiment("true", levels={"threads": (1, 2)}), two_cores, count=3)
    assert (len(made), len(built), len(set(built))) == (6, 2, 2)


def test_metrics_come_from_outside_and_from_the_programs_json_line(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("print('noise'); print('{\"length\": 7.5, \"good\": true}')")
    metrics = {"bytes": "stdout-size", "memory": "peak-memory", "cpu": "cpu-time", "l": "output:length"}
    records = direct(experiment(program, metrics=metrics), two_cores)
    assert len(records) == 2
    for record in records:
        assert record.metrics["bytes"] == len('noise\n{"length": 7.5, "good": true}\n')
        assert record.metrics["memory"] == record.peak_memory > 1 << 20
        assert record.metrics["cpu"] == record.user + record.system > 0
        assert record.metrics["l"] == record.metrics["length"] == 7.5
        assert record.checks == {"good": True}


def test_standard_output_is_left_alone_unless_something_wants_it(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("import os, sys; sys.exit(0 if os.fstat(1).st_rdev == os.stat('/dev/null').st_rdev else 9)")
    assert {r.status for r in direct(experiment(program), two_cores)} == {"ok"}
    assert {r.status for r in direct(experiment(program, output="null"), two_cores)} == {"ok"}


def test_output_goes_to_a_file_and_input_comes_from_one(
    experiment: Make, two_cores: Machine, tmp_path: Path, python: Any
) -> None:
    (tmp_path / "in").write_text("what was put in")
    e = experiment("cat", input=str(tmp_path / "in"), output=str(tmp_path / "out"), metrics={"n": "stdout-size"})
    records = direct(e, two_cores)
    assert (tmp_path / "out").read_text() == "what was put in"
    assert [r.metrics["n"] for r in records] == [15, 15]
    with pytest.raises(UsageError, match="--input /nowhere: no such file"):
        direct(experiment("cat", input="/nowhere"), two_cores)


def test_without_input_a_program_that_asks_ends(experiment: Make, two_cores: Machine) -> None:
    assert {r.status for r in direct(experiment("cat"), two_cores)} == {"ok"}


def test_each_launch_has_a_result_folder_of_its_own_that_is_gone_afterwards(
    experiment: Make, two_cores: Machine, python: Any, tmp_path: Path
) -> None:
    program = python(
        "import os, pathlib\n"
        "folder = pathlib.Path(os.environ['CORESCALE_RESULT'])\n"
        "assert not list(folder.iterdir())\n"
        f"open({str(tmp_path / 'folders')!r}, 'a').write(str(folder) + '\\n')\n"
        "(folder / 'x').write_text('')\n"
    )
    assert {r.status for r in direct(experiment(program), two_cores, 3)} == {"ok"}
    folders = (tmp_path / "folders").read_text().splitlines()
    assert len(set(folders)) == 6
    assert not any(Path(folder).parent.exists() for folder in folders)


def test_what_a_killed_run_left_is_swept_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, other = tmp_path / f"{scratch.PREFIX}left", tmp_path / "other"
    (left / "result").mkdir(parents=True)
    other.mkdir()
    with scratch.Scratch() as held:
        scratch.sweep()
        assert set(tmp_path.iterdir()) == {held.folder, other}
    assert not held.folder.exists()


def test_a_folder_that_is_swept_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, usual = list[Path](), Path.mkdir

    def swept_at_first(folder: Path, mode: int) -> None:
        usual(folder, mode)
        made.append(folder)
        if len(made) == 1:
            scratch.sweep()

    monkeypatch.setattr(Path, "mkdir", swept_at_first)
    with scratch.Scratch() as held:
        assert [held.folder] == made[1:] and held.folder.is_dir()


def test_a_folder_goes_though_ranks_elsewhere_still_write_into_it() -> None:
    with scratch.Scratch() as held, ThreadPoolExecutor() as pool:
        writing = pool.submit(_writes_for_a_while, held.of("ranks"))
        assert eventually(lambda: any(held.of("ranks").iterdir()))
        held.__exit__()
        writing.result()
        assert not held.folder.exists()


def _writes_for_a_while(folder: Path) -> None:
    for rank in range(20_000):
        with contextlib.suppress(FileNotFoundError):
            (folder / f"rank.{rank}").touch()


@pytest.mark.parametrize("name", ["shutil.rmtree", "fcntl.flock"])
def test_a_signal_while_a_folder_is_made_or_removed_leaves_none(name: str, tmp_path: Path) -> None:
    """Of many ranks it has many files, so that removing it takes a while."""
    script = (
        "import fcntl, shutil, signal\n"
        "from corescale.observe.scratch import Scratch\n"
        f"usual = {name}\n"
        "def comes(*words, **options):\n"
        f"    {name} = usual\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        f"{name} = comes\n"
        "with Scratch() as held:\n"
        "    held.of('ranks')\n"
    )
    variables = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, check=False)
    assert b"KeyboardInterrupt" in done.stderr and not list(tmp_path.iterdir())


def test_regions_through_the_library_of_the_program(experiment: Make, two_cores: Machine, python: Any) -> None:
    source = Path(__file__).parents[4] / "src"
    program = python(
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from corescale.region import region, work\n"
        "with region('solve'): pass\n"
        "work(12)\n"
    )
    records = direct(experiment(program), two_cores)
    assert len(records) == 2
    for record in records:
        assert [(r.name, r.calls) for r in record.regions] == [("solve", 1)]
        assert record.work == 12


def test_failures_time_outs_and_signals_are_results(experiment: Make, two_cores: Machine) -> None:
    script = "case $0 in 1) exit 7;; 2) kill -SEGV $$;; 3) sleep 60;; 4) echo lost >&2; exit 1;; esac"
    e = experiment("sh", "-c", script, "{kind}", levels={"kind": (0, 1, 2, 3, 4)}, timeout=0.3)
    found = {r.configuration["kind"]: (r.status, r.exit_code) for r in direct(e, two_cores)}
    assert found == {0: ("ok", 0), 1: ("failed", 7), 2: ("signal", -11), 3: ("timeout", -9), 4: ("failed", 1)}
    assert next(r for r in direct(e, two_cores) if r.configuration["kind"] == 4).tail == "lost\n"


def test_a_check_that_the_program_reports_as_broken(experiment: Make, two_cores: Machine) -> None:
    script = 'echo "{\\"right\\": $0}"'
    e = experiment("sh", "-c", script, "{right}", levels={"right": ("true", "false")}, metrics={"m": "output:m"})
    assert {r.configuration["right"]: r.status for r in direct(e, two_cores)} == {"true": "ok", "false": "check"}


def test_another_output_than_baseline_is_a_failure(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment("echo", "{word}", levels={"word": ("baseline", "other")}, same_output=True)
    with store.open_run(e, two_cores, tmp_path) as folder:
        records = run(e, folder, Direct(e, two_cores), blocks(e, 2))
        wanted = {"baseline": {"ok"}, "other": {"output-differs"}}
        assert {w: {r.status for r in records if r.configuration["word"] == w} for w in wanted} == wanted
        assert len({r.output_hash for r in records}) == 2


def test_hooks_run_when_they_should_with_their_placeholders(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    hooks = {
        "setup": f"sh -c 'echo setup >> {log}'",
        "prepare": f"sh -c 'echo prepare $0 >> {log}' {{threads}}",
        "conclude": f"sh -c 'echo conclude $0 >> {log}' {{threads}}",
        "cleanup": f"sh -c 'echo cleanup >> {log}'",
    }
    records = direct(experiment("sh", "-c", f"echo run $0 >> {log}", "{threads}", hooks=hooks), two_cores, 2)
    launches = [f"{what} {r.configuration['threads']}" for r in records for what in ("prepare", "run", "conclude")]
    assert log.read_text().splitlines() == ["setup", *launches, "cleanup"]


LOADS = "load() { export LOADED=$1 LEFT=; unset GONE; cd /; }; load 1"
"""what `module load` does: it is a function of a shell, which exports variables"""


@pytest.mark.parametrize("typed", ["sh -c", "bash --norc -euc", "/bin/bash --norc -o pipefail -c", "--shell"])
def test_launches_get_what_the_shell_of_setup_exports_and_nobody_else_does(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.setenv("GONE", "x")
    monkeypatch.delenv("OLDPWD", raising=False)
    before = dict(os.environ)
    setup = LOADS if typed == "--shell" else f"{typed} '{LOADS}'"
    seen = 'test "$LOADED" = 1 && test "${LEFT-unset}" = "" && test -z "$GONE$OLDPWD"'
    hooks = {"setup": setup, "cleanup": seen if typed == "--shell" else f"sh -c '{seen}'"}
    shell = typed == "--shell"
    e = experiment(seen, shell=True, hooks=hooks) if shell else experiment("sh", "-c", seen, hooks=hooks)
    assert {record.status for record in direct(e, two_cores)} == {"ok"}
    assert dict(os.environ) == before
    hooks = {"setup": "sh -c 'export LOADED=1; exit 3'"}
    with pytest.raises(ProgramError, match=r"--setup .* failed with exit code 3"):
        direct(experiment(hooks=hooks), two_cores)
    assert dict(os.environ) == before


def test_a_program_that_setup_puts_on_the_path_is_found(
    experiment: Make, two_cores: Machine, tmp_path: Path, python: Any
) -> None:
    """Also the script of a shell is a program, whose variables end with it."""
    (tmp_path / "loads").write_text("export LOADED=1")
    Path(python("")).rename(tmp_path / "known-to-a-module")
    hooks = {"setup": f"sh -c 'PATH=$PATH:{tmp_path}; unset LOADED; . {tmp_path}/loads'"}
    assert {r.status for r in direct(experiment("known-to-a-module", hooks=hooks), two_cores)} == {"ok"}
    hooks = {"setup": f"sh {tmp_path}/loads"}
    assert {r.status for r in direct(experiment("sh", "-c", 'test -z "$LOADED"', hooks=hooks), two_cores)} == {"ok"}


@pytest.mark.parametrize("hook", ["echo x >>log", "true && false", "cat a | wc", "sleep 1 &"])
def test_a_hook_that_wants_a_shell_is_refused_where_there_is_none(
    experiment: Make, two_cores: Machine, tmp_path: Path, hook: str
) -> None:
    """Else `>> log` would be two more arguments, and nobody would know."""
    with pytest.raises(UsageError, match=r"--prepare: .* no shell is used; write sh -c "):
        Direct(experiment(hooks={"prepare": hook}), two_cores)
    Direct(experiment(hooks={"prepare": f"sh -c '{hook}'"}), two_cores)


def test_a_failing_hook_is_named_and_cleanup_still_runs(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    hooks = {"prepare": "sh -c 'echo oh no >&2; exit 4'", "cleanup": f"touch {tmp_path / 'clean'}"}
    with pytest.raises(ProgramError, match=r"--prepare .* failed with exit code 4: oh no"):
        direct(experiment(hooks=hooks), two_cores)
    assert (tmp_path / "clean").exists()
    with pytest.raises(ProgramError, match="--setup no-such-hook: cannot be started"):
        direct(experiment(hooks={"setup": "no-such-hook"}), two_cores)
    with pytest.raises(UsageError, match="unknown placeholder"):
        direct(experiment(hooks={"prepare": "echo {thread}"}), two_cores)


def test_a_shell_runs_what_a_shell_should(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    direct(experiment(f"echo a | cat >> {out} && true", shell=True, hooks={"prepare": f"echo b >> {out}"}), two_cores)
    assert out.read_text().splitlines() == ["b", "a"] * 2


def test_more_threads_than_the_machine_has_are_labelled(experiment: Make, two_cores: Machine) -> None:
    records = direct(experiment(levels={"threads": (2, 3)}), two_cores)
    assert {r.configuration["threads"]: r.oversubscribed for r in records} == {2: False, 3: True}
    assert {r.threads_asked for r in records} == {2, 3}


def test_the_environment_and_the_program_are_what_the_configuration_says(
    experiment: Make, two_cores: Machine, python: Any
) -> None:
    program = python("import os; print('{\"n\": %s}' % os.environ['OMP_NUM_THREADS'])")
    records = direct(experiment(program, metrics={"n": "output:n"}), two_cores)
    assert {r.configuration["threads"]: r.metrics["n"] for r in records} == {1: 1, 2: 2}


def test_the_subject_names_every_program_by_content(experiment: Make, two_cores: Machine, python: Any) -> None:
    program = python("")
    subject = Direct(experiment("taskset", "-c", "0", program), two_cores).subject()
    before = subject["programs"]
    assert {"taskset", program} <= set(before)
    libraries = set(before) - {"taskset", program}
    assert libraries and all(".so" in library for library in libraries)
    Path(program).write_text("#!/bin/sh\n")
    after = Direct(experiment("taskset", "-c", "0", program), two_cores).subject()["programs"]
    assert before["taskset"] == after["taskset"]
    assert before[program]["sha256"] != after[program]["sha256"]


def test_a_cancelled_launcher_launches_nothing_more(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    e = experiment("touch", str(tmp_path / "launched"))
    launcher = Direct(e, two_cores)
    launcher.open(lambda _: None)
    launcher.recall(())
    launcher.cancel()
    with pytest.raises(KeyboardInterrupt):
        list(launcher.launch(plan.invocations(Block("measure", configurations(e)), 0, 0, baseline(e), 1)))
    assert not (tmp_path / "launched").exists()


def test_input_and_output_are_looked_at_before_the_first_command_or_behind_the_one_that_makes_them(
    experiment: Make, two_cores: Machine, tmp_path: Path
) -> None:
    made, log = tmp_path / "made", tmp_path / "log"
    with pytest.raises(UsageError, match=r"--output .*no/where: cannot be written: no such folder; name a file"):
        direct(experiment("echo", output=str(tmp_path / "no" / "where")), two_cores)
    with pytest.raises(UsageError, match="cannot be written: is a folder"):
        direct(experiment("echo", output=str(tmp_path)), two_cores)
    hooks = {"setup": f"touch {made}", "prepare": f"touch {log}"}
    assert len(direct(experiment("cat", input=str(made), hooks=hooks), two_cores)) == 2
    with pytest.raises(UsageError, match=r"--input .*other: no such file"):
        direct(experiment("cat", input=str(tmp_path / "other"), hooks={"setup": f"touch {made}"}), two_cores)


def test_cgroup_off_launches_in_the_group_of_this_process(experiment: Make, two_cores: Machine, tmp_path: Path) -> None:
    script = f"cat /proc/self/cgroup >> {tmp_path / 'groups'}; :"
    e = experiment("sh", "-c", script, cgroup="off")
    records = direct(e, two_cores)
    assert set((tmp_path / "groups").read_text().splitlines()) == set(
        Path("/proc/self/cgroup").read_text().splitlines()
    )
    assert {record.cpu_kind for record in records} == {"reaped"}


def test_what_a_launch_left_running_is_said(experiment: Make, two_cores: Machine) -> None:
    records = direct(experiment("sh", "-c", "sleep 100 & sleep 100 & exit 0"), two_cores)
    assert (
        f"2 processes that ran on after the program's end were killed (in {len(records)} of {len(records)} launches)"
        in (warnings(records, experiment()).lines)
    )
    assert not any(
        "ran on after" in line for line in warnings(direct(experiment("true"), two_cores), experiment()).lines
    )


def test_cgroup_is_auto_or_off() -> None:
    with pytest.raises(UsageError, match="--cgroup: 'maybe' is neither auto nor off; write --cgroup off"):
        command_line.scan(ScanRequest(threads="1", cgroup="maybe"), ["true"], Machine.here())


@pytest.mark.parametrize(("script", "fault"), [
    ('mkfifo "$CORESCALE_RESULT/rank-0.json"', "not a regular file"),
    ('ln -s /dev/zero "$CORESCALE_RESULT/rank-0.json"', "not a regular file"),
    ('truncate -s 1T "$CORESCALE_RESULT/rank-0.json"', "at most"),
])  # fmt: skip
def test_a_result_that_would_be_read_for_ever_is_none(
    script: str, fault: str, experiment: Make, two_cores: Machine
) -> None:
    with pytest.raises(ProgramError, match=fault):
        direct(experiment("sh", "-c", script), two_cores)


def test_what_a_program_puts_in_the_place_of_its_folder_is_taken_away_and_not_written_into(
    experiment: Make, two_cores: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    script = f'folder=${{CORESCALE_RESULT%/*}}; rm -rf "$folder"; ln -s {other} "$folder"'
    assert all(record.ok for record in direct(experiment("sh", "-c", script), two_cores))
    assert list(other.iterdir()) == []
    assert list(tmp_path.iterdir()) == [other]


def test_a_system_that_gives_no_process_is_no_fault_of_the_program(
    experiment: Make, two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab has four descriptors left once the launches begin."""
    launcher = Direct(experiment("true"), two_cores)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened, held = launcher.open, [os.open(os.devnull, os.O_RDONLY)]

    def leaves_few(note: Callable[[str], None], began: float | None) -> None:
        opened(note, began)
        last = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
        while held[-1] <= last:
            held.append(os.dup(held[0]))
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + 4, limits[1]))

    monkeypatch.setattr(launcher, "open", leaves_few)
    try:
        with pytest.raises(UnavailableError, match="no new process: Too many open files"):
            run(experiment("true"), store.Memory(), launcher, blocks(experiment("true"), 1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for file in held:
            os.close(file)


def test_a_temporary_folder_that_takes_no_file_is_no_fault_of_the_program(
    experiment: Make, two_cores: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spawner is told of another folder than the lab's, which has gone."""
    told = functools.partialmethod(SpawnRequest.__init__, scratch=str(tmp_path / "gone"))
    monkeypatch.setattr(SpawnRequest, "__init__", told)
    with pytest.raises(UnavailableError, match="temporary directory"):
        direct(experiment("true"), two_cores)


def test_a_region_whose_file_could_not_be_written_is_missed_in_its_own_words(
    experiment: Make, two_cores: Machine
) -> None:
    lost = "import os; os.rmdir(os.environ['CORESCALE_RESULT'])\nimport corescale.region as r\nwith r.region('r'): pass"
    why = "region.h: No such file or directory; the results of this process are not recorded"
    e = experiment(sys.executable, "-c", lost, response="region:r")
    with pytest.raises(UsageError, match=f"no launch gave it; the program gives none; {why} "):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))
    e = experiment(sys.executable, "-c", lost)
    assert all(why in one.warnings for one in run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1)))
