# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: every way in which a program takes or refuses a preload)
"""A library that was asked for is proved inside the program, or it is an error that says why not."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corescale.conclude.warnings import warnings
from corescale.declare.catalogue import allocators, openmp
from corescale.declare.experiment import Experiment, Factor
from corescale.errors import PreloadError, ProgramError
from corescale.machine import Machine
from corescale.observe import preload, store
from corescale.observe.launchers.direct import Direct
from corescale.observe.run import run
from corescale.observe.spawn import Spawner, SpawnReport, SpawnRequest
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
    programs = compile_c(ALLOCATE), compile_c(ALLOCATE, "-O1")
    levels = {"allocator": ("system", own_allocator), "program": programs}
    records = measured(experiment("{program}", levels=levels, timeout=20), two_cores)
    assert {r.proved[0][0] for r in records if r.proved} == {*programs}
    inside = {r.configuration["allocator"]: {p.preload for p in r.processes} for r in records}
    assert inside == {"system": {None}, own_allocator: {(own_allocator,)}}
    assert {r.status for r in records} == {"ok"}
    assert {r.sources for r in records} == {("witness",)}, "all levels bear the same witness"


def test_records_of_two_builds_of_an_allocator_are_not_mixed(
    experiment: Make, two_cores: Machine, own_allocator: str
) -> None:
    e = allocating(experiment, "true", levels=("system", own_allocator))
    before = Direct(e, two_cores).subject()["programs"]
    with Path(own_allocator).open("ab") as file:
        file.write(b"another build")
    after = Direct(e, two_cores).subject()["programs"]
    assert {name for name in after if after[name] != before[name]} == {own_allocator}


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


def test_a_library_that_serves_malloc_and_is_no_known_allocator_is_a_warning_of_system(
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
        told = [line for line in record.warnings if f"malloc is served by {tracer}" in line]
        assert len(told) == (record.configuration["allocator"] == "system")
    assert any(tracer in line and "in 2 of 6 launches" in line for line in warnings(records, e).lines)


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
    busy = "#include <stdlib.h>\nint main(void) { for (volatile long i = 0; i < 100000000; ++i) {} free(malloc(9)); }\n"
    beside = allocating(experiment, "sh", "-c", f"{program}; {compile_c(busy)}", levels=("system", own_allocator))
    notes = Notes()
    assert {r.status for r in measured(beside, two_cores, notes)} == {"ok"}
    assert any(f"{program}: malloc is served by {program}, not by libown.so" in note for note in notes.said)


def test_a_program_with_an_operator_new_of_its_own_is_noted(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    own = ALLOCATE.replace("int main", "void *_Znwm(unsigned long n) { return malloc(n); }\nint main")
    e = allocating(experiment, compile_c(own, "-rdynamic"), levels=("system", own_allocator))
    notes = Notes()
    records = measured(e, two_cores, notes)
    assert {r.status for r in records} == {"ok"}
    assert len([note for note in notes.said if "operator new is served by" in note]) == 1
    told = {r.configuration["allocator"] for r in records if any("operator new" in said for said in r.warnings)}
    assert told == {own_allocator}, "a record has it too, so that an answer has it where notes are not shown"


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

        def spawn(self, request: SpawnRequest, note: Callable[[str], object] = lambda _: None) -> SpawnReport:
            Counting.proofs += request.prove
            return super().spawn(request, note)

    for count in (1, 2):
        with store.open_run(e, two_cores, tmp_path / "runs") as folder:
            run(e, folder, Direct(e, two_cores, Counting()), blocks(e, count))
            (folder.path / "finished").unlink()
        assert Counting.proofs == 1


WORK = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 3000000; ++i) free(malloc(100 + i % 64)); return 0; }"


@pytest.mark.parametrize("start", ["exec {0}", "{0}; :", "{0} & wait"])
def test_a_wrapper_that_drops_the_preload_after_the_proof_proves_nothing(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path, start: str
) -> None:
    """Traced it keeps LD_PRELOAD; timed it drops it, and only the shell is detected."""
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
    """Its wrapper came to no program, to which it would not have handed the preload on: the next trace shows that."""
    program, wrapper = compile_c(ALLOCATE), tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\nmkdir {tmp_path}/there && exit 9\nenv -u LD_PRELOAD {program}\nexit 0\n")
    wrapper.chmod(0o755)
    e = allocating(experiment, str(wrapper), levels=("system", own_allocator))
    with pytest.raises(PreloadError, match=r"is not in the program"):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))


@pytest.mark.parametrize("fails", ["$((n % 2)) = 1", "$((n % 2)) = 0"])
def test_a_program_that_fails_now_and_then_is_proved(
    fails: str, experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    program, wrapper = compile_c(ALLOCATE), tmp_path / "wrapper"
    wrapper.write_text(f"#!/bin/sh\ncd {tmp_path}\necho >> n\nn=$(wc -l < n)\n[ {fails} ] && exit 9\n{program}\n")
    wrapper.chmod(0o755)
    e = allocating(experiment, str(wrapper), levels=("system", own_allocator)).model_copy(
        update={"ignore_failure": True}
    )
    records = run(e, store.Memory(), Direct(e, two_cores), blocks(e, 6))
    good = [r for r in records if r.ok and r.configuration["allocator"] == own_allocator]
    assert good and all(r.proved for r in good)
    assert {r.exit_code for r in records} == {0, 9}


def test_a_program_that_always_fails_when_it_is_traced_says_so(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    wrapper = tmp_path / "wrapper"
    traced = "grep -q 'TracerPid:.0$' /proc/self/status || exit 9"
    wrapper.write_text(f"#!/bin/sh\n{traced}\n{compile_c(ALLOCATE)}\n")
    wrapper.chmod(0o755)
    e = allocating(experiment, str(wrapper), levels=("system", own_allocator))
    with pytest.raises(PreloadError, match=r"the traced launch failed.*but none of 3 traced launches"):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))


def test_levels_that_fail_by_themselves_prove_nothing_about_the_others(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path
) -> None:
    """The traced launch is of any level. Each failing level has its own exit code, and no word of another one's."""
    wrapper, codes = tmp_path / "wrapper", (0, 60, 61, 62, 63)
    wrapper.write_text(f"#!/bin/sh\n[ $1 = 0 ] || exit $1\n{compile_c(ALLOCATE)}\n")
    wrapper.chmod(0o755)
    levels = {"allocator": ("system", own_allocator), "code": codes}
    e = experiment(str(wrapper), "{code}", levels=levels, timeout=20).model_copy(update={"ignore_failure": True})
    records = measured(e, two_cores)
    assert {(r.configuration["code"], r.exit_code) for r in records} == {(code, code) for code in codes}
    assert not [r.warnings for r in records if "traced" in str(r.warnings)]
    assert all(r.proved for r in records if r.ok and r.configuration["allocator"] == own_allocator)


def test_a_program_that_fails_anyway_has_failed(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    e = allocating(experiment, compile_c(ALLOCATE.replace("return 0", "return 9")), levels=(own_allocator,))
    with pytest.raises(ProgramError, match="exit code 9"):
        run(e, store.Memory(), Direct(e, two_cores), blocks(e, 1))


def test_a_trace_under_which_a_program_never_ends_proves_what_has_come(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preload, "LONGEST", 0.5)
    traced = '{ char s[4096]; s[fread(s, 1, 4095, fopen("/proc/self/status", "r"))] = 0;'
    traced += ' while (!strstr(s, "TracerPid:\\t0")) usleep(1000); return 0; }'
    program = compile_c("#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\nint main(void) " + traced)
    records = measured(allocating(experiment, program, levels=(own_allocator,)), two_cores)
    assert {(r.status, r.proved[0][0]) for r in records} == {("ok", program)}


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


OWN = "static char h[1 << 20];\n{} void *{}(unsigned long n) {{ return n < sizeof h ? h : 0; }}\n"


def test_a_malloc_or_new_of_its_own_that_a_program_does_not_export_is_noted(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    hidden = OWN.format('__attribute__((visibility("hidden")))', "malloc") + "void free(void *p) { (void)p; }\n"
    new = OWN.format("", "_Znwm") + "int main(void) { return !_Znwm(8); }\n"
    programs = [compile_c(hidden + ALLOCATE, "-fno-builtin"), compile_c(new), compile_c(ALLOCATE)]
    levels = {"allocator": ("system", own_allocator)}
    notes = Notes()
    records = measured(experiment("{program}", levels=levels | {"program": programs}, timeout=20), two_cores, notes)
    assert {r.status for r in records} == {"ok"}
    assert sorted(note for note in notes.said if "may go past" in note) == sorted(
        f"{program}: has its own {what}, which may go past the allocator"
        for program, what in zip(programs, ("malloc", "operator new"), strict=False)
    )


@pytest.mark.parametrize("closes", ["", "dlclose(plugin); "])
def test_a_plug_in_that_brings_a_malloc_is_said_and_a_library_that_is_linked_is_not(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str, tmp_path: Path, closes: str
) -> None:
    plugin = tmp_path / "plugin.so"
    shutil.copy(own_allocator, plugin)
    opens = f'void *plugin = dlopen("{plugin}", RTLD_NOW); if (!plugin) return 1; {closes}return 0'
    loads = f"#include <dlfcn.h>\n{ALLOCATE}".replace("return 0", opens)
    linked = compile_c(ALLOCATE, str(plugin), f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed")
    loading, levels = compile_c(loads), {"allocator": ("system", own_allocator)}
    e = experiment("{program}", levels=levels | {"program": (loading, linked)}, timeout=20)
    notes = Notes()
    assert {r.status for r in measured(e, two_cores, notes)} == {"ok"}
    assert [note for note in notes.said if "may go past" in note] == [
        f"{plugin}: loaded by {loading}, with a malloc that may go past the allocator"
    ]


def test_a_program_in_a_namespace_of_its_own_is_attributed(
    experiment: Make, two_cores: Machine, compile_c: Any, own_allocator: str
) -> None:
    if subprocess.run(["unshare", "-pf", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespace can be made here")
    e = allocating(experiment, "unshare", "-pf", compile_c(WORK), levels=(own_allocator,))
    assert {r.status for r in measured(e, two_cores)} == {"ok"}
    malloc = "static char h[1 << 20]; void *malloc(size_t n) { return n < sizeof h ? h : 0; }"
    own = WORK.replace("int main", f"{malloc}\nvoid free(void *p) {{ (void)p; }}\nint main")
    alone = compile_c(own, "-fno-builtin", "-rdynamic")
    for namespace in (("unshare", "-pf"), ("unshare", "-pf", "--mount-proc")):
        with pytest.raises(PreloadError, match=r"libown\.so is loaded, but malloc is served by .*built-\d+"):
            measured(allocating(experiment, *namespace, alone, levels=(own_allocator,)), two_cores)


REGION = "#include <stdio.h>\nint main(void) {\n#pragma omp parallel\n  putchar('x');\n  return 0;\n}\n"


def on_runtimes(e: Experiment) -> Experiment:
    levels = Factor(name="openmp", kind="openmp", levels=("inherited", "libomp"))
    return e.model_copy(update={"factors": (levels,)})


@pytest.mark.skipif(openmp.find("libomp") is None, reason="no libomp here")
def test_another_runtime_of_openmp_is_proved_where_regions_come_to_it(
    experiment: Make, two_cores: Machine, compile_c: Any
) -> None:
    """Both ways: a program of GCC's has it, and one that has its own runtime inside has not."""
    records = measured(on_runtimes(experiment(compile_c(REGION, "-fopenmp"), levels={}, timeout=20)), two_cores)
    inside = {r.configuration["openmp"]: {p.preload for p in r.processes} for r in records}
    assert inside == {"inherited": {None}, "libomp": {(str(openmp.find("libomp")),)}}
    own = compile_c("void GOMP_parallel(void) {}\nint main(void) { return 0; }\n", "-rdynamic")
    with pytest.raises(PreloadError, match="its parallel regions are served by") as said:
        measured(on_runtimes(experiment(own, levels={}, timeout=20)), two_cores)
    assert own in str(said.value)
