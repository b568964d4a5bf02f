# SPDX-License-Identifier: Apache-2.0
"""When a library counts as proved: the rules, on reports made by hand."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.errors import PreloadError
from corescale.observe import preload, sources
from corescale.observe.scratch import Scratch
from corescale.observe.sources import witness
from corescale.observe.sources.witness import Sighting
from corescale.observe.spawn import ProvedProgram, SpawnedProcess, SpawnReport

Make = Callable[..., Experiment]


# ---- the rules, on reports made by hand

LIBRARY = Path("/nowhere/liba.so")
PRELOADED = Launch((), preload=(LIBRARY,))


def program(name: str, *maps: str, cpu: float = 0.0, **more: Any) -> ProvedProgram:
    values = {"static": False, "setuid": False, "replaced": False, "readable": True} | more
    return ProvedProgram(executable=name, maps=maps, cpu=cpu, **values)


def report(*programs: ProvedProgram, tail: str = "") -> SpawnReport:
    return SpawnReport(status="ok", proof=programs, tail=tail)


def test_the_program_with_the_most_cpu_time_decides() -> None:
    heavy, light = program("solver", str(LIBRARY), cpu=2.0), program("helper", cpu=0.1)
    assert "helper was started without it" in preload.judge(report(light, heavy), [LIBRARY], ())
    with pytest.raises(PreloadError, match="solver was started without it"):
        preload.judge(report(program("solver", cpu=2.0), program("helper", str(LIBRARY))), [LIBRARY], ())


def test_programs_that_gave_way_to_another_do_not_count() -> None:
    gone = program("env", replaced=True, readable=False)
    assert preload.judge(report(gone, program("solver", str(LIBRARY))), [LIBRARY], ()) == ""


@pytest.mark.parametrize(
    ("lacking", "tail", "says"),
    [
        (program("x", readable=False), "", "could not be looked into"),
        (program("x", "/lib/ld-musl-x86_64.so.1"), "", "another C library"),
        (program("x"), "ERROR: ld.so: object '/nowhere/liba.so' cannot be preloaded: ignored.", "cannot be preloaded"),
    ],
)
def test_reasons(lacking: ProvedProgram, tail: str, says: str) -> None:
    with pytest.raises(PreloadError, match=says):
        preload.judge(report(lacking, tail=tail), [LIBRARY], ())


@pytest.mark.parametrize(
    ("operator_new", "noted"),
    [("", False), (str(LIBRARY), False), ("/lib/libstdc++.so.6", False), ("/lib/libc++.so.1", False), ("solver", True)],
)
def test_an_operator_new_that_does_not_come_to_the_library_is_noted(operator_new: str, noted: bool) -> None:
    heavy = program("solver", str(LIBRARY), cpu=2.0)
    detected = [Sighting(1, "solver", str(LIBRARY), operator_new)]
    note = preload.judge(report(heavy), [LIBRARY], detected)
    assert ("operator new is served by solver" in note) == noted


def test_no_trace_is_no_proof() -> None:
    with pytest.raises(PreloadError, match=r"preload: .*; no trace; allow ptrace"):
        preload.judge(SpawnReport(status="ok"), [LIBRARY], ())


def bear_witness(folder: Path, pid: int, malloc: str) -> None:
    (folder / f"witness.{pid}").write_bytes(f"{pid}\0solver\0{malloc}\0\0\0".encode())


def test_a_timed_launch_without_it_is_not_proved() -> None:
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        bear_witness(held.of("witness"), 1, "/lib/libc.so.6")
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
        bear_witness(held.of("witness"), 2, str(LIBRARY))
        found = sources.read([witness.SOURCE], held, succeeded=True)
    assert found.processes == {1: {"preload": ()}, 2: {"preload": (str(LIBRARY),)}}
    assert not found.unproved


def test_a_wrapper_that_is_detected_does_not_stand_for_the_program() -> None:
    with Scratch(PRELOADED, (("/bin/other", "other"),)) as held:
        bear_witness(held.of("witness"), 1, str(LIBRARY))
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        bear_witness(held.of("witness"), 1, str(LIBRARY))
        assert not sources.read([witness.SOURCE], held, succeeded=True).unproved


def test_a_process_that_gave_way_undetected_is_not_proved() -> None:
    detected = [Sighting(1, "/bin/solver", str(LIBRARY), "")]

    def ended(name: str) -> list[SpawnedProcess]:
        return [SpawnedProcess(1, "/bin/solver", 1.0, 0.0, 0, (), name=name)]

    proved = [("/bin/solver", "solver"), ("/usr/bin/python3.11", "script.py")]
    assert not witness.gave_way(ended("solver"), proved, detected)
    assert witness.gave_way(ended("other"), proved, detected)
    assert not witness.gave_way(ended("other"), [("/bin/else", "else")], detected)


def test_each_rank_must_be_detected_where_each_has_a_folder() -> None:
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        for rank, malloc in enumerate((str(LIBRARY), "/lib/libc.so.6")):
            (held.of("witness") / str(rank)).mkdir()
            bear_witness(held.of("witness") / str(rank), 10 + rank, malloc)
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
        bear_witness(held.of("witness") / "1", 12, str(LIBRARY))
        assert sources.read([witness.SOURCE], held, succeeded=True).processes[12] == {"preload": (str(LIBRARY),)}


def test_what_is_no_testimony_is_left_out() -> None:
    with Scratch() as held:
        (held.of("witness") / "witness.9").mkdir()
        (held.of("witness") / "witness.8").write_bytes(b"written\0by\0the\0program\0itself\0" * 2)
        assert witness.sightings(held) == ()


def test_a_testimony_cut_short_is_left_out() -> None:
    with Scratch() as held:
        (held.of("witness") / "witness.7").write_bytes(b"7\0/bin/sh\0/libc\0\0\x007\0/bin/pi")
        assert witness.sightings(held) == (Sighting(7, "/bin/sh", "/libc", ""),)


def environment(before: dict[str, str | None], library: Path, held: Scratch) -> dict[str, str | None]:
    """With the witness, if it lay at that path."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "library", lambda _: library)
        return sources.environment([witness.SOURCE], before, held)


def test_a_witness_below_a_folder_with_a_blank_still_loads(tmp_path: Path) -> None:
    place = tmp_path / "my project"
    place.mkdir()
    library = shutil.copy(native.library(witness.LIBRARY), place)
    with Scratch() as held:
        variables = environment({"LD_PRELOAD": None}, Path(library), held)
        subprocess.run(["/bin/true"], env={k: v for k, v in variables.items() if v}, check=True)
        (detected,) = witness.sightings(held)
    assert detected.executable.endswith("true")
    assert "libc" in detected.malloc


def test_what_is_preloaded_already_stays_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/inherited.so")
    library = tmp_path / "w.so"
    with Scratch() as held:
        assert environment({}, library, held)["LD_PRELOAD"] == f"/inherited.so:{library}"
        assert environment({"LD_PRELOAD": None}, library, held)["LD_PRELOAD"] == str(library)
        assert environment({"LD_PRELOAD": "/a.so"}, library, held)["LD_PRELOAD"] == f"/a.so:{library}"


@pytest.mark.parametrize(
    ("libraries", "factor"),
    [(("libjemalloc.so.2",), "allocator"), (("libomp.so.5",), "openmp"),
     (("libjemalloc.so.2", "libomp.so.5"), "allocator and openmp")],
)  # fmt: skip
def test_a_program_that_cannot_be_traced_is_an_error_of_the_factor_of_its_libraries(
    libraries: tuple[str, ...], factor: str
) -> None:
    assert preload.failed([], [Path("/usr/lib") / name for name in libraries]).where == factor
