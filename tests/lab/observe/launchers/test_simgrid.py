# SPDX-License-Identifier: Apache-2.0
"""Ranks that a real SimGrid simulates: times that are known exactly, and every record labelled."""

import math
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from corescale import native
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.plan import Invocation
from corescale.errors import ProgramError, UnavailableError, UsageError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe.launchers.simgrid import simulator
from corescale.observe.run import run
from corescale.records import Record
from support.policies import blocks
from support.simgrid import compiled, needs_simgrid, platform

Make = Callable[..., Experiment]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("simgrid"))


@pytest.fixture(scope="session")
def exact(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("exact"), "-DNOTHING_MEASURED")


@pytest.fixture(scope="session")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("threaded"), "-DSTARTS_THREADS")


def simulated(e: Experiment, cluster: Path) -> Sequence[Record]:
    options = {"platform": str(cluster)}
    machine = launchers.machine("simgrid", options)
    return run(e, store.Memory(), launchers.create("simgrid", e, machine, options), blocks(e, 1))


def clustering() -> Sequence[str]:
    """A short one, of as many threads as a rank has; skips the test if there is no build of it for SimGrid."""
    try:
        built = native.find("pairwise_clustering.smpi")
    except UnavailableError as error:
        pytest.skip(error.what)
    fixed = ("--points", "600", "--temperatures", "1", "--clusters", "4", "--threads", "{threads}")
    return str(built).removesuffix(".smpi"), *fixed


def seconds(made: Sequence[Record]) -> dict[str, float]:
    return {str(record.configuration.layout): record.metrics["seconds"] for record in made}


@needs_simgrid
def test_a_message_takes_what_the_platform_says(experiment: Make, exact: str, tmp_path: Path) -> None:
    """There and back: twice 2 s between nodes, twice a quarter within one; no wall clock waits for it."""
    e = experiment(exact, "pass", levels={"layout": ["1x1x2", "1x2x1"]}, response="metric:seconds")
    made = simulated(e, platform(tmp_path))
    assert seconds(made) == pytest.approx({"1x1x2": 4, "1x2x1": 0.5}, rel=0.01)
    assert {(r.origin, r.status, r.oversubscribed) for r in made} == {("simulated", "ok", False)}
    assert all(record.wall > 0.99 * record.metrics["seconds"] for record in made)
    assert {(r.peak_memory_kind, r.processes) for r in made} == {("none", ())}


@needs_simgrid
def test_threads_and_a_cores_rate_make_computing_faster_and_slower(
    experiment: Make, threaded: str, tmp_path: Path
) -> None:
    e = experiment(threaded, "charge", levels={"layout": ["1x1x1", "4x1x1", "1x2x1"]}, response="metric:seconds")
    made = simulated(e, platform(tmp_path, both=0.25))
    assert seconds(made) == pytest.approx({"1x1x1": 1, "4x1x1": 1, "1x2x1": 4}, rel=0.05), "4 threads at 0.25 each"
    assert {record.metrics["threads"] for record in made} == {1}, "SimGrid itself makes a rank t times as fast"


@needs_simgrid
@pytest.mark.parametrize(("starts", "seconds_of", "said"), [
    ("", {"1x1x1": 1, "4x1x1": 1}, r"person.smpi starts no threads, so each rank computes on one core, whatever t is"),
    ("-DSTARTS_THREADS", {"1x1x1": 1, "4x1x1": 0.25}, r"person.smpi is assumed to compute t times as fast with t "),
])  # fmt: skip
def test_a_program_that_starts_no_threads_is_not_faster_by_any(
    experiment: Make, tmp_path: Path, starts: str, seconds_of: dict[str, float], said: str
) -> None:
    built, notes = compiled(tmp_path, *filter(None, [starts])), list[str]()
    e = experiment(built, "charge", levels={"layout": [*seconds_of]}, response="metric:seconds")
    cluster = platform(tmp_path)
    assert seconds(simulated(e, cluster)) == pytest.approx(seconds_of, rel=0.05)
    launchers.create("simgrid", e, Machine.here(), {"platform": str(cluster)}).open(notes.append)
    assert any(said in note for note in notes), notes


@needs_simgrid
def test_what_a_program_computes_takes_time(experiment: Make, program: str, tmp_path: Path) -> None:
    """30 million dependent multiplications, through memory, take no core less."""
    e = experiment(program, "work", levels={"layout": ["1x1x1"]}, response="metric:seconds")
    assert seconds(simulated(e, platform(tmp_path)))["1x1x1"] > 0.01


@needs_simgrid
def test_more_ranks_than_cores_share_them(experiment: Make, program: str, tmp_path: Path) -> None:
    e = experiment(program, "charge", levels={"layout": ["1x2x1", "1x8x1"]}, response="metric:seconds")
    made = simulated(e, platform(tmp_path, cores=2))
    assert seconds(made) == pytest.approx({"1x2x1": 1, "1x8x1": 4}, rel=0.05)
    assert [r.oversubscribed for r in sorted(made, key=lambda r: r.threads_asked)] == [False, True]


@needs_simgrid
def test_cpu_time_and_memory_are_unknown(experiment: Make, program: str, tmp_path: Path) -> None:
    metrics = {"cpu": "cpu-time", "memory": "peak-memory"}
    e = experiment(program, "pass", levels={"layout": ["99999999x1x1"]}, metrics=metrics)
    (record,) = simulated(e, platform(tmp_path))
    assert record.oversubscribed and (record.user, record.cpu_kind, record.bounds["user"]) == (0, "none", "lower")
    assert math.isnan(record.effective_cores) and not metrics.keys() & record.metrics.keys()


@needs_simgrid
def test_a_simulation_that_takes_long_is_not_capped(experiment: Make, program: str, tmp_path: Path) -> None:
    """A race caps launches that take too long, but this one takes the simulator's time, and not the program's."""
    e = experiment(program, "pass", levels={"layout": ["1x1x1", "1x2x1"]})
    launcher = launchers.create("simgrid", e, Machine.here(), {"platform": str(platform(tmp_path))})
    launcher.open(print)
    asked = Invocation(configurations(e)[1], "measure", block=0, attempt=1, order=0, seed=0, cap=1e-6)
    assert [record.status for record in launcher.launch([asked])] == ["ok"]
    launcher.close()


@needs_simgrid
def test_a_rank_that_fails_is_a_failure_with_its_words(experiment: Make, program: str, tmp_path: Path) -> None:
    e = experiment(program, "fail", levels={"layout": ["1x2x1"]})
    with pytest.raises(ProgramError, match="rank 1 has had enough"):
        simulated(e, platform(tmp_path))


@needs_simgrid
def test_ranks_that_wait_for_ever_are_a_failure(experiment: Make, program: str, tmp_path: Path) -> None:
    said = r"layout=1x2x2 failed: the simulation found a deadlock: ranks that wait for ever: 2, 3;"
    with pytest.raises(ProgramError, match=said):
        simulated(experiment(program, "stuck", levels={"layout": ["1x2x2"]}), platform(tmp_path))


@needs_simgrid
@pytest.mark.parametrize(("what", "said"), [
    ("abort", "called MPI_Abort"),
    ("leave", "ended without MPI_Finalize"),
    ("leave-others", "ended without MPI_Finalize"),
    ("quit", r"ended the whole simulation, as by _exit\(0\)"),
])  # fmt: skip
def test_a_program_that_does_not_come_to_its_end_is_a_failure(
    experiment: Make, program: str, tmp_path: Path, what: str, said: str
) -> None:
    """SimGrid itself ends as if all was well, or aborts."""
    with pytest.raises(ProgramError, match=f"layout=1x2x1 failed: a rank {said}"):
        simulated(experiment(program, what, levels={"layout": ["1x2x1"]}), platform(tmp_path))


@needs_simgrid
def test_no_word_of_the_program_is_the_simulators(experiment: Make, program: str, tmp_path: Path) -> None:
    words = ("pass", "--cfg=smpi/np:7", "--help")
    e = experiment(program, *words, levels={"layout": ["1x1x2"]}, response="metric:seconds")
    (record,) = simulated(e, platform(tmp_path))
    assert (record.metrics["size"], record.metrics["words"]) == (2, 4)
    with pytest.raises(UsageError, match="SimGrid drops the word --"):
        simulated(experiment(program, "--"), platform(tmp_path))


@needs_simgrid
def test_without_its_compiler_or_simgrid_it_is_one_line(
    experiment: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    e, cluster = experiment("/bin/true"), platform(tmp_path)
    (tmp_path / "smpirun").symlink_to(str(shutil.which("smpirun")))
    monkeypatch.setenv("PATH", str(tmp_path))
    install = r"\(apt-get install libsimgrid-dev\)"
    with pytest.raises(ProgramError, match=f"^/bin/true: is not a build .*; smpicxx is not here {install}$"):
        simulated(e, cluster)
    (tmp_path / "smpirun").unlink()
    simulator.cache_clear()
    try:
        with pytest.raises(UnavailableError, match=f"needs SimGrid, and smpirun is not here {install}"):
            simulated(e, cluster)
    finally:
        simulator.cache_clear()


@needs_simgrid
def test_what_cannot_be_simulated_is_one_line(
    experiment: Make, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = platform(tmp_path)
    with pytest.raises(
        ProgramError, match=r"true: is not a build for SimGrid; compile an MPI program by smpicxx as true.smpi"
    ):
        simulated(experiment("true"), cluster)
    (tmp_path / "script").write_text("#!/bin/sh\nexec smpirun libsimgrid\n")
    (tmp_path / "script").chmod(0o755)
    with pytest.raises(ProgramError, match="script: is not a build for SimGrid"):
        simulated(experiment(str(tmp_path / "script")), cluster)
    (tmp_path / "plain.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["smpicc", tmp_path / "plain.c", "-o", tmp_path / "plain.smpi"], check=True)
    with pytest.raises(ProgramError, match=r"or does not call MPI; compile an MPI program .* as \S+/plain\.smpi "):
        simulated(experiment(str(tmp_path / "plain")), cluster)
    with pytest.raises(UsageError, match=r"5 nodes .* 4 "):
        simulated(experiment(program, levels={"layout": ["1x1x5"]}), cluster)
    with pytest.raises(UsageError, match="no library is preloaded into a simulated program"):
        simulated(experiment(program, levels={"allocator": ["inherited"]}), cluster)
    with pytest.raises(UsageError, match=r"--response: a simulated program reports no regions; .*metric:NAME"):
        simulated(experiment(program, response="region:loop"), cluster)
    with pytest.raises(UsageError, match=r"needs a platform; add --platform FILE"):
        launchers.create("simgrid", experiment(program), Machine.here())
    with pytest.raises(UsageError, match=r"--platform: only the simgrid launcher takes it; add --on simgrid"):
        launchers.create("direct", experiment(program), Machine.here(), {"platform": str(cluster)})
    monkeypatch.setenv("PATH", str(tmp_path))
    launchers.simgrid.simulator.cache_clear()
    try:
        with pytest.raises(UnavailableError, match=r"needs SimGrid, .*apt-get install libsimgrid-dev"):
            simulated(experiment(program), cluster)
    finally:
        launchers.simgrid.simulator.cache_clear()


@needs_simgrid
def test_the_clustering_gives_the_same_labels_however_many_ranks_are_simulated(
    experiment: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the clock is simulated; and no file is left."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    layouts = ["1x1x1", "2x1x1", "2x2x3", "1x4x4"]
    made = simulated(
        experiment(*clustering(), levels={"layout": layouts}, response="metric:seconds"), platform(tmp_path)
    )
    assert len({record.metrics["energy"] for record in made}) == 1
    assert [r.metrics["ranks"] for r in sorted(made, key=lambda r: layouts.index(str(r.configuration.layout)))] == [
        1, 1, 6, 16,
    ]  # fmt: skip
    assert not [path for path in tmp_path.iterdir() if path.name != "cluster.toml"]


@needs_simgrid
def test_what_a_loop_costs_is_seconds_whatever_a_cores_rate(experiment: Make, tmp_path: Path) -> None:
    e = experiment(*clustering(), levels={"layout": ["2x1x1"]}, response="metric:seconds")
    found = []
    for rate in (1.0, 0.1):
        cluster = platform(tmp_path, both=rate)
        cluster.write_text(cluster.read_text() + "[fork_join.default]\n2 = 1000.0\n")
        found.append(seconds(simulated(e, cluster))["2x1x1"])
    assert found[0] > 5000
    assert found[1] == pytest.approx(found[0], rel=0.02)
