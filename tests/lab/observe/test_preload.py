# SPDX-License-Identifier: Apache-2.0
"""A library that was asked for is proved inside the program, or it is an error that says why not."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from corescale.conclude.doubts import doubts
from corescale.declare.catalogue import allocators
from corescale.declare.experiment import Experiment
from corescale.declare.factors import Launch
from corescale.errors import PreloadError
from corescale.machine import Machine
from corescale.observe import preload, sources, store
from corescale.observe.launchers.direct import Direct
from corescale.observe.run import run
from corescale.observe.scratch import Scratch
from corescale.observe.sources import witness
from corescale.observe.sources.witness import Sighting
from corescale.observe.spawn import ProvedProgram, SpawnedProcess, Spawner, SpawnReport, SpawnRequest
from corescale.observe.watcher import Watcher
from corescale.records import Record
from support.policies import blocks

Make = Callable[..., Experiment]
ALLOCATE = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 1000; ++i) free(malloc(100)); return 0; }\n"


class Notes(Watcher):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[..., str]:
    def make(text: str, *options: str) -> str:
        number = len(list(tmp_path.iterdir()))
        source, program = tmp_path / f"source-{number}.c", tmp_path / f"built-{number}"
        source.write_text(text)
        subprocess.run(["cc", "-O0", "-o", program, source, *options], check=True)
        return str(program)

    return make


@pytest.fixture
def own_allocator(compile_c: Callable[..., str], tmp_path: Path) -> str:
    """A shared object that serves malloc and aligned_alloc from a heap that only grows, in the older symbol table."""
    text = (
        "#include <stddef.h>\n"
        "static char heap[1 << 26]; static size_t used;\n"
        "static void *take(size_t a, size_t n)\n"
        "{ size_t at = (used + a - 1) / a * a; used = at + n; return used > sizeof heap ? 0 : heap + at; }\n"
        "void *malloc(size_t n) { return take(16, n); }\n"
        "void *calloc(size_t k, size_t n) { return take(16, k * n); }\n"
        "void *aligned_alloc(size_t a, size_t n) { return take(a, n); }\n"
        "void *realloc(void *p, size_t n)\n"
        "{ char *to = take(16, n), *from = p; if (from) for (size_t i = 0; i < n; ++i) to[i] = from[i]; return to; }\n"
        "void free(void *p) { (void)p; }\n"
    )
    built = Path(compile_c(text, "-shared", "-fPIC", "-fno-builtin", "-Wl,--hash-style=sysv"))
    return str(built.rename(tmp_path / "libown.so"))


def measured(e: Experiment, machine: Machine, watch: Watcher | None = None) -> tuple[Record, ...]:
    return run(e, store.Memory(), Direct(e, machine), blocks(e, 2), watch)


def allocating(experiment: Make, *argv: str, levels: tuple[str, ...]) -> Experiment:
    return experiment(*argv, levels={"allocator": levels}, timeout=20)


def test_the_library_is_proved_inside_every_timed_launch(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    e = allocating(experiment, compile_c(ALLOCATE), levels=("system", own_allocator))
    records = measured(e, two_cores)
    inside = {r.configuration["allocator"]: {p.preload for p in r.processes} for r in records}
    assert inside == {"system": {None}, own_allocator: {(own_allocator,)}}
    assert {r.status for r in records} == {"ok"}
    assert {r.sources for r in records} == {("witness",)}, "all levels bear the same witness"


@pytest.mark.parametrize(
    ("inherited", "library", "expected"),
    [
        ("", "/a.so", "/a.so"),
        ("", None, None),
        ("/usr/lib/libdarshan.so", "/a.so", "/a.so:/usr/lib/libdarshan.so"),
        ("/shim.so:/usr/lib/libjemalloc.so.2:/late.so", "/a.so", "/shim.so:/a.so:/late.so"),
        ("/shim.so /usr/lib/libjemalloc.so.2", None, "/shim.so"),
        ("libmimalloc.so.2:libjemalloc.so.2", "/a.so", "/a.so"),
    ],
)
def test_an_allocator_takes_the_place_of_allocators_alone(inherited: str, library: str | None, expected: str) -> None:
    assert allocators.replaced(inherited, library) == expected


def test_what_else_is_inherited_stays_inside_at_every_level(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profiler's shim, for one: it says at each start that it is there."""
    shim = compile_c(
        "#include <unistd.h>\n__attribute__((constructor)) static void here(void) { if (write(2, \"shim\\n\", 5)) {} }",
        "-shared", "-fPIC",
    )  # fmt: skip
    monkeypatch.setenv("LD_PRELOAD", shim)
    e = allocating(experiment, compile_c(ALLOCATE), levels=("inherited", "system", own_allocator))
    records = measured(e, two_cores)
    assert {(r.status, r.tail) for r in records} == {("ok", "shim\n")}
    lines = [Direct(e, two_cores).line(r.configuration) for r in records if r.configuration["allocator"] != "inherited"]
    pasted = [subprocess.run(shlex.split(line), capture_output=True, text=True, check=True).stderr for line in lines]
    assert set(pasted) == {"shim\n" * 2}, "in env and in the program: what is pasted is what was measured"


def test_a_library_that_serves_malloc_and_is_no_known_allocator_is_a_doubt_of_system(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays, as a profiler does: what the level then measures is not the C library's allocator."""
    tracer = compile_c(
        "#include <stddef.h>\nvoid *__libc_malloc(size_t);\nvoid *malloc(size_t n) { return __libc_malloc(n); }",
        "-shared", "-fPIC",
    )  # fmt: skip
    monkeypatch.setenv("LD_PRELOAD", tracer)
    e = allocating(experiment, compile_c(ALLOCATE), levels=("inherited", "system", own_allocator))
    records = measured(e, two_cores)
    for record in records:
        told = [line for line in record.doubts if f"malloc is served by {tracer}" in line]
        assert len(told) == (record.configuration["allocator"] == "system")
    assert any(tracer in line and "in 2 of 6 launches" in line for line in doubts(records, e).lines)


def test_without_an_allocator_factor_nothing_is_preloaded(experiment: Make, two_cores: Machine, python: Any) -> None:
    program = python("import os, sys; sys.exit('CORESCALE_WITNESS' in os.environ or 'LD_PRELOAD' in os.environ)")
    records = measured(experiment(program), two_cores)
    assert {(r.status, r.sources) for r in records} == {("ok", ())}


@pytest.mark.parametrize("name", [name for name in allocators.ALLOCATORS if name != "system"])
def test_every_allocator_of_the_table_that_is_here(
    experiment: Make, two_cores: Machine, compile_c: Any, name: str
) -> None:
    found = allocators.find(name)
    if found is None:
        pytest.skip(allocators.absent(name))
    e = allocating(experiment, compile_c(ALLOCATE), levels=("system", name))
    records = [r for r in measured(e, two_cores) if r.configuration["allocator"] == name]
    assert [p.preload for r in records for p in r.processes] == [(str(found),)] * 2


def test_a_static_program_is_refused(experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str) -> None:
    e = allocating(experiment, compile_c(ALLOCATE, "-static"), levels=("system", own_allocator))
    with pytest.raises(PreloadError, match=r"libown\.so is not in the program: .*-\d+ is linked statically") as said:
        measured(e, two_cores)
    assert "leave all allocators but system out" in str(said.value)


def test_a_setuid_program_is_refused(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    program = Path(compile_c(ALLOCATE))
    program.chmod(0o4755)
    shutil.chown(program, "nobody")
    if program.stat().st_mode & 0o4000 == 0:
        program.chmod(0o4755)
    tmp_path.chmod(0o755)
    e = allocating(experiment, str(program), levels=("system", own_allocator))
    with pytest.raises(PreloadError, match="is set-user-id, for which the loader ignores preloads") as said:
        measured(e, two_cores)
    assert "leave all allocators but system out" in str(said.value)


def test_a_wrapper_that_resets_the_environment_is_named(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    busy = "int main(void) { for (volatile long i = 0; i < 100000000; ++i) {} return 0; }\n"
    script = f"env -u LD_PRELOAD {compile_c(busy)}; true"
    e = allocating(experiment, "sh", "-c", script, levels=("system", own_allocator))
    with pytest.raises(PreloadError, match=r"built-\d+ was started without it: a wrapper reset LD_PRELOAD"):
        measured(e, two_cores)


def test_others_that_lack_it_are_only_noted_and_once_for_all_allocators(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    busy = "#include <stdlib.h>\nint main(void) { for (volatile long i = 0; i < 100000000; ++i) {} free(malloc(9)); }\n"
    script = f"{compile_c(ALLOCATE, '-static')}; {compile_c(busy)}; true"
    another = shutil.copy(own_allocator, tmp_path / "libanother.so")
    e = allocating(experiment, "sh", "-c", script, levels=("system", own_allocator, str(another)))
    notes = Notes()
    assert {r.status for r in measured(e, two_cores, notes)} == {"ok"}
    assert len([note for note in notes.said if "is linked statically" in note]) == 1


def test_a_program_with_an_allocator_of_its_own_is_refused(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    """Its malloc comes before any preloaded one, although the library is mapped."""
    own = ALLOCATE.replace(
        "int main",
        "static char h[1 << 20]; static unsigned long u;\n"
        "void *malloc(size_t n) { u += 1024; return n < 1024 && u < sizeof h ? h + u - 1024 : 0; }\n"
        "void free(void *p) { (void)p; }\nint main",
    ).replace("1000", "100")
    program = compile_c(own, "-fno-builtin", "-rdynamic")
    e = allocating(experiment, program, levels=("system", own_allocator))
    with pytest.raises(PreloadError, match=r"libown\.so is loaded, but malloc is served by .*built-\d+"):
        measured(e, two_cores)


def test_a_program_that_takes_the_address_of_malloc_has_not_its_own(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    """Linked to a fixed address, as pigz is in Debian, it has a stub that dlsym takes for malloc."""
    text = ALLOCATE.replace("{ for", "{ void *(*volatile take)(size_t) = malloc; for").replace(
        "malloc(100)", "take(100)"
    )
    program = compile_c(text, "-no-pie", "-fno-pie")
    e = allocating(experiment, program, levels=("system", own_allocator))
    records = measured(e, two_cores)
    inside = {r.processes[0].preload for r in records if r.configuration["allocator"] == own_allocator}
    assert inside == {(own_allocator,)}


def test_a_resumed_run_proves_nothing_again(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    e = allocating(experiment, compile_c(ALLOCATE), levels=("system", own_allocator))

    class Counting(Spawner):
        proofs = 0

        def spawn(self, request: SpawnRequest) -> SpawnReport:
            Counting.proofs += request.prove
            return super().spawn(request)

    for count in (1, 2):
        with store.open_run(e, two_cores, tmp_path / "runs") as folder:
            run(e, folder, Direct(e, two_cores, Counting()), blocks(e, count))
            (folder.path / "finished").unlink()
        assert Counting.proofs == 1


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
        (heard,) = witness.sightings(held)
    assert heard.executable.endswith("true")
    assert "libc" in heard.malloc


def test_what_is_preloaded_already_stays_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/inherited.so")
    library = tmp_path / "w.so"
    with Scratch() as held:
        assert environment({}, library, held)["LD_PRELOAD"] == f"/inherited.so:{library}"
        assert environment({"LD_PRELOAD": None}, library, held)["LD_PRELOAD"] == str(library)
        assert environment({"LD_PRELOAD": "/a.so"}, library, held)["LD_PRELOAD"] == f"/a.so:{library}"


# ---- the rules, on reports made by hand

LIBRARY = Path("/nowhere/liba.so")
PRELOADED = Launch((), preload=(LIBRARY,))


def program(name: str, *maps: str, cpu: float = 0.0, **more: Any) -> ProvedProgram:
    values = {"static": False, "setuid": False, "replaced": False, "readable": True} | more
    return ProvedProgram(pid=hash(name) % 1000, executable=name, maps=maps, cpu=cpu, **values)


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


def test_no_trace_is_no_proof() -> None:
    with pytest.raises(PreloadError, match="cannot be proved; no trace; allow ptrace"):
        preload.judge(SpawnReport(status="ok"), [LIBRARY], ())


def bear_witness(folder: Path, pid: int, malloc: str) -> None:
    (folder / f"witness.{pid}").write_bytes(f"{pid}\0solver\0{malloc}\0{malloc}\0".encode())


def test_a_timed_launch_without_it_is_not_proved() -> None:
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        bear_witness(held.of("witness"), 1, "/lib/libc.so.6")
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
        bear_witness(held.of("witness"), 2, str(LIBRARY))
        found = sources.read([witness.SOURCE], held, succeeded=True)
    assert found.processes == {1: {"preload": ()}, 2: {"preload": (str(LIBRARY),)}}
    assert not found.unproved


def test_a_wrapper_that_is_heard_does_not_stand_for_the_program() -> None:
    with Scratch(PRELOADED, (("/bin/other", "other"),)) as held:
        bear_witness(held.of("witness"), 1, str(LIBRARY))
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        bear_witness(held.of("witness"), 1, str(LIBRARY))
        assert not sources.read([witness.SOURCE], held, succeeded=True).unproved


WORK = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 3000000; ++i) free(malloc(100 + i % 64)); return 0; }"


@pytest.mark.parametrize("start", ["exec {0}", "{0}; :", "{0} & wait"])
def test_a_wrapper_that_drops_the_preload_after_the_proof_proves_nothing(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path, start: str
) -> None:
    """Traced it keeps LD_PRELOAD; timed it drops it, and only the shell is heard."""
    program = str(Path(compile_c(WORK, "-O0")).rename(tmp_path / "work"))
    wrapper, flag = tmp_path / "wrapper", tmp_path / "flag"
    unset = f'if [ -e {flag} ]; then unset LD_PRELOAD; else [ -z "$LD_PRELOAD" ] || : > {flag}; fi'
    wrapper.write_text(f"#!/bin/sh\n{unset}\n{start.format(program)}\n")
    wrapper.chmod(0o755)
    flag.touch()
    e = allocating(experiment, str(wrapper), levels=("system", own_allocator))
    launcher = Direct(e, two_cores)
    flag.unlink()
    records = run(e, store.Memory(), launcher, blocks(e, 2), None)
    status = {(r.configuration["allocator"], r.status) for r in records}
    assert status == {("system", "ok"), (own_allocator, "unproved")}


def test_a_traced_launch_that_failed_proves_nothing(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    """Its wrapper came to no program, to which it would not have handed the preload on."""
    program, wrapper = compile_c(ALLOCATE), tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\nmkdir {tmp_path}/there && exit 9\nenv -u LD_PRELOAD {program}\nexit 0\n")
    wrapper.chmod(0o755)
    e = allocating(experiment, str(wrapper), levels=("system", own_allocator))
    notes = Notes()
    records = run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1), notes)
    assert {r.configuration["allocator"]: r.status for r in records} == {"system": "ok", own_allocator: "unproved"}
    assert any("the traced launch failed" in said for said in notes.said)


@pytest.mark.parametrize("start", ["exec {0}", "{0}; :"])
def test_a_wrapper_that_keeps_the_preload_proves_its_program(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path, start: str
) -> None:
    program = str(Path(compile_c(WORK, "-O0")).rename(tmp_path / "work"))
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\n{start.format(program)}\n")
    wrapper.chmod(0o755)
    records = measured(allocating(experiment, str(wrapper), levels=("system", own_allocator)), two_cores)
    proved = [r for r in records if r.configuration["allocator"] == own_allocator]
    assert {(r.status, r.proved) for r in proved} == {("ok", ((program, "work"),))}


def test_a_process_that_gave_way_unheard_is_not_proved() -> None:
    heard = [Sighting(1, "/bin/solver", str(LIBRARY), "")]

    def ended(name: str) -> list[SpawnedProcess]:
        return [SpawnedProcess(1, "/bin/solver", 1.0, 0.0, 0, (), name=name)]

    proved = [("/bin/solver", "solver"), ("/usr/bin/python3.11", "script.py")]
    assert not witness.gave_way(ended("solver"), proved, heard)
    assert witness.gave_way(ended("other"), proved, heard)
    assert not witness.gave_way(ended("other"), [("/bin/else", "else")], heard)


def test_each_rank_must_be_heard_where_each_has_a_folder() -> None:
    with Scratch(PRELOADED, (("solver", "solver"),)) as held:
        for rank, malloc in enumerate((str(LIBRARY), "/lib/libc.so.6")):
            (held.of("witness") / str(rank)).mkdir()
            bear_witness(held.of("witness") / str(rank), 10 + rank, malloc)
        assert sources.read([witness.SOURCE], held, succeeded=True).unproved
        bear_witness(held.of("witness") / "1", 12, str(LIBRARY))
        assert sources.read([witness.SOURCE], held, succeeded=True).processes[12] == {"preload": (str(LIBRARY),)}


def test_a_testimony_cut_short_is_left_out() -> None:
    with Scratch() as held:
        (held.of("witness") / "witness.7").write_bytes(b"7\0/bin/sh\0/libc\0/libc\x007\0/bin/pi")
        assert witness.sightings(held) == (Sighting(7, "/bin/sh", "/libc", "/libc"),)
