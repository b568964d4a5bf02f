# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one contract in four languages, whose programs are built and
# read by the same helpers)
"""region.h and its Fortran and Python forms: programs really compiled and run, read back by the parser."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corescale.endings import unwritten
from corescale.observe.sources.result import ProgramResult, parse_results, spans

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "runtime/include"
EXAMPLES = ROOT / "runtime/examples"
STRICT = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-pthread", f"-I{INCLUDE}"]
RANK_VARIABLES = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"]


def build(folder: Path, compiler: str, *arguments: str | Path) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = folder / "program"
    subprocess.run([compiler, *map(str, arguments), "-o", str(program), "-lm"], check=True, cwd=folder)
    return program


def build_c(folder: Path, source: str, *flags: str, language: str = "c", compiler: str = "gcc") -> Path:
    path = folder / "program.source"
    path.write_text("#include <corescale/region.h>\n" + source)
    return build(folder, compiler, *STRICT, *flags, "-x", language, path)


def run(folder: Path, *argv: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    results = folder / "results"
    results.mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}
    environment = inherited | {"CORESCALE_RESULT": str(results), "PYTHONPATH": str(ROOT / "src")} | variables
    return subprocess.run(list(map(str, argv)), env=environment, check=True, capture_output=True, text=True, timeout=60)


def results(folder: Path) -> ProgramResult:
    left = [path.name for path in (folder / "results").iterdir() if not path.name.startswith("rank-")]
    assert left == []
    return parse_results(folder / "results", None)


def calls(result: ProgramResult) -> dict[tuple[str, int, int], int]:
    return {(region.name, region.rank, region.thread): region.calls for region in result.regions}


def is_the_integral(result: ProgramResult, threads: int, steps: int) -> None:
    assert calls(result) == {("integrate", 0, thread): 1 for thread in range(threads)}
    assert all(0 < region.seconds < 60 for region in result.regions)
    assert result.checks == {"close": True}
    assert result.metrics.keys() == {"error"}
    assert result.work == steps


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "gnu99", "c11"])
def test_c(tmp_path: Path, compiler: str, standard: str) -> None:
    run(tmp_path, build(tmp_path, compiler, *STRICT, f"-std={standard}", EXAMPLES / "region_c.c"))
    is_the_integral(results(tmp_path), threads=1, steps=5_000_000)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_cpp(tmp_path: Path, compiler: str, standard: str) -> None:
    source = EXAMPLES / "region_c.c"
    run(tmp_path, build(tmp_path, compiler, *STRICT, f"-std={standard}", "-x", "c++", source))
    is_the_integral(results(tmp_path), threads=1, steps=5_000_000)


@pytest.mark.parametrize("openmp", [[], ["-fopenmp"]])
def test_fortran(tmp_path: Path, openmp: list[str]) -> None:
    sources = [INCLUDE / "corescale/corescale_region.f90", INCLUDE / "corescale/region_fortran.c"]
    program = build(tmp_path, "gfortran", "-O2", "-Wall", "-Werror", *openmp, *sources, EXAMPLES / "region_fortran.f90")
    run(tmp_path, program, OMP_NUM_THREADS="3")
    is_the_integral(results(tmp_path), threads=3 if openmp else 1, steps=5_000_000)


def test_python(tmp_path: Path) -> None:
    run(tmp_path, sys.executable, EXAMPLES / "region_python.py")
    is_the_integral(results(tmp_path), threads=1, steps=500_000)


@pytest.mark.parametrize("value", [None, ""])
def test_unset_does_nothing(tmp_path: Path, value: str | None) -> None:
    program = build(tmp_path, "gcc", *STRICT, EXAMPLES / "region_c.c")
    environment = {"PYTHONPATH": str(ROOT / "src")} | ({} if value is None else {"CORESCALE_RESULT": value})
    for argv in ([str(program)], [sys.executable, str(EXAMPLES / "region_python.py")]):
        ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert (ran.stdout, ran.stderr) == ("pi is about 3.141593\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program"]


UNWRITABLE = "the results of this process are not recorded"


def test_unwritable_directory_costs_one_line_and_not_the_program(tmp_path: Path) -> None:
    program = build(tmp_path, "gcc", *STRICT, EXAMPLES / "region_c.c")
    for argv in ([program], [sys.executable, EXAMPLES / "region_python.py"]):
        ran = run(tmp_path, *argv, CORESCALE_RESULT=str(tmp_path / "absent"))
        assert ran.stdout == "pi is about 3.141593\n"
        assert ran.stderr.count("\n") == 1
        assert str(tmp_path / "absent") in ran.stderr
        assert unwritten(ran.stderr) == (f"region.h: No such file or directory; {UNWRITABLE}",)


def test_full_disk_leaves_no_torn_file(tmp_path: Path) -> None:
    """A file size limit of zero stands in for a disk without room."""
    program = build_c(
        tmp_path,
        """#include <signal.h>
           #include <sys/resource.h>
           int main(void) { struct rlimit none = {0, 0}; signal(SIGXFSZ, SIG_IGN); setrlimit(RLIMIT_FSIZE, &none);
                            corescale_work(1); return 0; }""",
    )
    ran = run(tmp_path, program)
    assert UNWRITABLE in ran.stderr
    assert list((tmp_path / "results").iterdir()) == []


def test_nested_recursive_unmatched_and_unended(tmp_path: Path) -> None:
    program = build_c(
        tmp_path,
        """static void visit(int depth) { corescale_region_begin("recursive"); if (depth) visit(depth - 1);
                                          usleep(1000); corescale_region_end("recursive"); }
           int main(void) { corescale_region_end("never begun");
             corescale_region_begin("outer"); visit(9); corescale_region_end("outer");
             corescale_region_end("outer"); corescale_region_begin("never ended"); return 0; }""",
        "-D_DEFAULT_SOURCE",
    )
    run(tmp_path, program)
    seconds = {region.name: region.seconds for region in results(tmp_path).regions}
    assert calls(results(tmp_path)) == {("outer", 0, 0): 1, ("recursive", 0, 0): 10}
    assert 0.010 <= seconds["recursive"] <= seconds["outer"]


def test_values(tmp_path: Path) -> None:
    """The last metric, a check that failed once, work that adds up; NaN is absent; any name survives."""
    program = build_c(
        tmp_path,
        r"""int main(void) { char name[] = "once"; corescale_metric(name, 1.0); name[0] = 'X';
             corescale_metric("last", 1.0); corescale_metric("last", 0.1); corescale_metric("nan", 0.0 / zero());
             corescale_metric("quote \" back \\ line \n tab \t umlaut \xc3\xa4 latin \xe4", 1e149);
             corescale_check("a", 1); corescale_check("a", 0); corescale_check("a", 1); corescale_check("b", 7);
             corescale_work(0.5); corescale_work(2); return 0; }""",
        "-Dzero()=(getpid()==0)",
    )
    run(tmp_path, program)
    result = results(tmp_path)
    odd = 'quote " back \\ line \n tab \t umlaut ä latin \N{REPLACEMENT CHARACTER}'
    assert result.metrics == {"once": 1.0, "last": 0.1, odd: 1e149}
    assert result.checks == {"a": False, "b": True}
    assert result.work == 2.5


def test_decimal_point_of_a_foreign_locale(tmp_path: Path) -> None:
    """The program's own snprintf stands in for that of a locale whose decimal point is U+066B, two bytes."""
    program = build_c(
        tmp_path,
        r"""#include <stdarg.h>
            int snprintf(char* text, size_t size, const char* format, ...) {
              va_list arguments; int length; char* point;
              va_start(arguments, format); length = vsnprintf(text, size, format, arguments); va_end(arguments);
              if (strcmp(format, "%.17g") || !(point = strchr(text, '.'))) return length;
              memmove(point + 2, point + 1, strlen(point));
              memcpy(point, "\xd9\xab", 2);
              return length + 1; }
            int main(void) { corescale_metric("x", 1.5); corescale_work(-2.5e-149); return 0; }""",
        "-fno-builtin-snprintf",
    )
    run(tmp_path, program)
    assert (results(tmp_path).metrics, results(tmp_path).work) == ({"x": 1.5}, -2.5e-149)


THREADS = """
static void* body(void* unused) {
  for (int i = 0; i < 1000; ++i) { corescale_region_begin("work"); corescale_work(1);
    corescale_metric("m", i); corescale_check("c", 1); corescale_region_end("work"); }
  return unused;
}
static void together(int threads) {
  pthread_t ids[16];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, body, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
}
"""


@pytest.mark.parametrize("sanitizer", [[], ["-fsanitize=thread"], ["-fsanitize=address,undefined"]])
def test_threads(tmp_path: Path, sanitizer: list[str]) -> None:
    program = build_c(tmp_path, THREADS + "int main(void) { together(8); return 0; }", "-g", *sanitizer)
    run(tmp_path, program)
    result = results(tmp_path)
    assert sum(calls(result).values()) == 8000
    assert {region.thread for region in result.regions} <= set(range(8))
    assert (result.work, result.checks) == (8000, {"c": True})


def test_places_of_ended_threads_are_taken_again(tmp_path: Path) -> None:
    """A program that starts a thread per step keeps as many places as threads live at once."""
    program = build_c(tmp_path, THREADS + "int main(void) { for (int i = 0; i < 50; ++i) together(1); return 0; }")
    run(tmp_path, program)
    assert calls(results(tmp_path)) == {("work", 0, 0): 50_000}


def test_a_thread_that_ends_inside_a_region_loses_no_later_time(tmp_path: Path) -> None:
    source = """static void* leave(void* unused) { corescale_region_begin("solve"); return unused; }
      static void* stay(void* unused) { corescale_region_begin("solve"); usleep(50000); corescale_region_end("solve");
                                        return unused; }
      int main(void) { pthread_t id; pthread_create(&id, NULL, leave, NULL); pthread_join(id, NULL);
                       pthread_create(&id, NULL, stay, NULL); pthread_join(id, NULL); return 0; }"""
    run(tmp_path, build_c(tmp_path, source, "-D_DEFAULT_SOURCE"))
    (region,) = results(tmp_path).regions
    assert (region.thread, region.calls) == (0, 1)
    assert 0.05 <= region.seconds < 30


PLUG_IN = """#include <corescale/region.h>
__attribute__((visibility("default"))) void visit(void);
void visit(void) { corescale_region_begin("plug-in"); corescale_region_end("plug-in"); }
"""
HOST = """#include <dlfcn.h>
static void* load_use_unload(void* unused) {
  void* plug = dlopen("./plug.so", RTLD_NOW | MODE);
  void (*visit)(void);
  if (!plug) exit(9);
  *(void**)&visit = dlsym(plug, "visit");
  visit();
  dlclose(plug);
  return unused;
}
int main(void) {
  pthread_t id;
  for (int i = 0; i < 3; ++i) { pthread_create(&id, NULL, load_use_unload, NULL); pthread_join(id, NULL); }
  puts("fine");
  OWN
  return 0;
}
"""


@pytest.mark.parametrize("mode", ["RTLD_LOCAL", "RTLD_GLOBAL"])
@pytest.mark.parametrize("flags", [[], ["-Wl,-Bsymbolic-functions"], ["-fvisibility=hidden"]])
@pytest.mark.parametrize("host", ["none", "unused", "exported"])
def test_a_plug_in_with_regions_may_be_unloaded(tmp_path: Path, mode: str, flags: list[str], host: str) -> None:
    """The thread that visited it ends afterwards; a state that the program shares with it outlives it."""
    (tmp_path / "plug.c").write_text(PLUG_IN)
    plug = ["gcc", *STRICT, *flags, "-shared", "-fPIC", "plug.c", "-o", "plug.so"]
    subprocess.run(plug, check=True, cwd=tmp_path)
    own = 'corescale_region_begin("host"); corescale_region_end("host");'
    source = HOST.replace("OWN", "" if host == "none" else own)
    options = ["-rdynamic"] if host == "exported" else []
    path = tmp_path / "host.c"
    path.write_text(
        f"#include <{'stdio' if host == 'none' else 'corescale/region'}.h>\n#include <pthread.h>\n"
        "#include <stdlib.h>\n" + source
    )
    program = build(tmp_path, "gcc", "-O2", f"-DMODE={mode}", f"-I{INCLUDE}", "-pthread", *options, path)
    results_folder = tmp_path / "results"
    results_folder.mkdir()
    environment = {**os.environ, "CORESCALE_RESULT": str(results_folder)}
    ran = subprocess.run([program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("fine\n", "")
    found: dict[str, int] = {}
    for region in results(tmp_path).regions:
        found[region.name] = found.get(region.name, 0) + region.calls
    assert found == {"plug-in": 3, **({} if host == "none" else {"host": 1})}


def test_thread_still_running_at_exit(tmp_path: Path) -> None:
    source = """static void* forever(void* unused) { for (;;) { corescale_region_begin("spin");
                                                     corescale_region_end("spin"); } return unused; }
                int main(void) { pthread_t id; pthread_create(&id, NULL, forever, NULL); usleep(20000); return 0; }"""
    run(tmp_path, build_c(tmp_path, source, "-D_DEFAULT_SOURCE", "-fsanitize=thread", "-g"))
    (region,) = results(tmp_path).regions
    assert region.calls > 100


def test_openmp(tmp_path: Path) -> None:
    source = """int main() {
      #pragma omp parallel num_threads(4)
      { corescale_region_begin("team"); corescale_region_end("team"); } }"""
    run(tmp_path, build_c(tmp_path, source, "-fopenmp", language="c++", compiler="g++"))
    assert calls(results(tmp_path)) == {("team", 0, thread): 1 for thread in range(4)}


def test_one_state_over_translation_units_and_libraries(tmp_path: Path) -> None:
    """A region may begin in the program and end in a library built with hidden symbols."""
    (tmp_path / "library.cpp").write_text(
        '#include <corescale/region.h>\nextern "C" __attribute__((visibility("default"))) void close_it();\n'
        'void close_it() { corescale_region_end("split"); corescale_work(1); }\n'
    )
    library = tmp_path / "liblibrary.so"
    hidden = ["-shared", "-fPIC", "-fvisibility=hidden"]
    subprocess.run(["g++", *STRICT, *hidden, tmp_path / "library.cpp", "-o", library], check=True)
    source = 'void close_it(void); int main(void) { corescale_region_begin("split"); close_it(); corescale_work(1); }'
    program = build_c(tmp_path, source, f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", "-llibrary")
    run(tmp_path, program)
    assert len(list((tmp_path / "results").iterdir())) == 1
    assert calls(results(tmp_path)) == {("split", 0, 0): 1}
    assert results(tmp_path).work == 2


def test_fork(tmp_path: Path) -> None:
    """The child reports what it did itself, in a file of its own."""
    source = """#include <sys/wait.h>
      int main(void) { corescale_region_begin("before"); corescale_region_end("before"); corescale_work(1);
        corescale_region_begin("across");
        if (fork() == 0) { corescale_region_end("across"); corescale_work(10); exit(0); }
        wait(NULL); corescale_region_end("across"); return 0; }"""
    run(tmp_path, build_c(tmp_path, source))
    assert len(list((tmp_path / "results").iterdir())) == 2
    result = results(tmp_path)
    assert result.work == 11
    assert sorted(region.name for region in result.regions) == ["across", "across", "before"]
    assert {region.thread for region in result.regions} == {0, 1}


def test_a_forked_child_with_nothing_to_report_writes_no_file(tmp_path: Path) -> None:
    source = """#include <sys/wait.h>
      int main(void) { corescale_work(1); if (fork() == 0) exit(0); wait(NULL); return 0; }"""
    run(tmp_path, build_c(tmp_path, source))
    assert len(list((tmp_path / "results").iterdir())) == 1
    run_python(tmp_path, "import os\nwork(1)\nif os.fork() == 0: raise SystemExit\nos.wait()")
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_a_program_that_clears_its_environment_is_detected(tmp_path: Path) -> None:
    source = 'int main(void) { corescale_work(1); unsetenv("CORESCALE_RESULT"); corescale_work(1); return 0; }'
    run(tmp_path, build_c(tmp_path, source, "-D_DEFAULT_SOURCE"))
    result = run_python(tmp_path, "import os\nwork(1)\ndel os.environ['CORESCALE_RESULT']")
    assert result.work == 3


@pytest.mark.parametrize("form", ["c", "python"])
def test_a_limit_on_file_sizes_does_not_kill_the_program(tmp_path: Path, form: str) -> None:
    """As `ulimit -f 0` does: without SIGXFSZ ignored, the first byte would."""
    (tmp_path / "program.py").write_text("from corescale.region import *\nwork(1)")
    argv: list[str | Path] = [sys.executable, "-B", tmp_path / "program.py"]
    if form == "c":
        argv = [build_c(tmp_path, "int main(void) { corescale_work(1); return 0; }")]
    ran = run(tmp_path, "sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *argv)
    assert UNWRITABLE in ran.stderr
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize("variable", RANK_VARIABLES)
@pytest.mark.parametrize("form", ["c", "python"])
def test_ranks(tmp_path: Path, variable: str, form: str) -> None:
    argv: list[str | Path] = [sys.executable, EXAMPLES / "region_python.py"]
    if form == "c":
        argv = [build(tmp_path, "gcc", *STRICT, EXAMPLES / "region_c.c")]
    for rank in (1, 0):
        run(tmp_path, *argv, **{variable: str(rank)})
    assert calls(results(tmp_path)) == {("integrate", rank, 0): 1 for rank in (0, 1)}
    run(tmp_path, *argv, **{variable: "1"})
    assert calls(results(tmp_path))["integrate", 1, 1] == 1


def test_two_ranks_under_mpi(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    program = build(tmp_path, "gcc", *STRICT, EXAMPLES / "region_c.c")
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run(tmp_path, "mpirun", "--bind-to", "none", "-n", "2", program, **allow)
    assert calls(results(tmp_path)) == {("integrate", rank, 0): 1 for rank in (0, 1)}
    assert results(tmp_path).work == 2 * 5_000_000


def test_written_before_a_hard_exit(tmp_path: Path) -> None:
    run(tmp_path, build_c(tmp_path, "int main(void) { corescale_work(3); corescale_write(); _exit(0); }"))
    assert results(tmp_path).work == 3


def run_python(folder: Path, source: str) -> ProgramResult:
    program = folder / "program.py"
    program.write_text("from corescale.region import *\n" + source)
    run(folder, sys.executable, program)
    return results(folder)


def test_python_threads(tmp_path: Path) -> None:
    result = run_python(
        tmp_path,
        """
import threading
barrier = threading.Barrier(4)
@region("step")
def step():
    barrier.wait()
    for _ in range(100):
        work(1)
threads = [threading.Thread(target=step) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
check("a", 1); check("a", 0); metric("nan", float("nan")); metric("m", 1); metric("m", 2)
with region("later"): pass
""",
    )
    assert calls(result) == {("step", 0, thread): 1 for thread in range(4)} | {("later", 0, 0): 1}
    assert (result.work, result.checks, result.metrics) == (400, {"a": False}, {"m": 2})


def test_python_thread_that_ends_inside_a_region(tmp_path: Path) -> None:
    result = run_python(
        tmp_path,
        """
import threading, time
def leave(): region("step").__enter__()
def stay():
    with region("step"): time.sleep(0.05)
for body in (leave, stay):
    thread = threading.Thread(target=body); thread.start(); thread.join()
""",
    )
    (step,) = result.regions
    assert (step.thread, step.calls) == (0, 1)
    assert 0.05 <= step.seconds < 30


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_python_workers(tmp_path: Path, method: str) -> None:
    result = run_python(
        tmp_path,
        f"""
import multiprocessing
def step(n):
    with region("step"):
        work(n)
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    workers = [context.Process(target=step, args=(n,)) for n in (1, 10)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    work(100)
""",
    )
    assert result.work == 111
    assert [region.name for region in result.regions] == ["step", "step"]


def test_python_form_needs_only_the_standard_library(tmp_path: Path) -> None:
    source = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); import corescale.region as r; r.work(1)"
    run(tmp_path, sys.executable, "-I", "-S", "-c", source)
    assert results(tmp_path).work == 1


@pytest.mark.parametrize(
    ("language", "example"), [("c", "region_c.c"), ("fortran", "region_fortran.f90"), ("python", "region_python.py")]
)
def test_guide_shows_the_compiled_examples(language: str, example: str) -> None:
    guide = (ROOT / "docs/region.md").read_text()
    (shown,) = re.findall(rf"^```{language}\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert (EXAMPLES / example).read_text().endswith(shown)


SPANS = """static void visit(int milliseconds) { struct timespec pause = {0, 1000000L * milliseconds};
                                               corescale_region_begin("work"); nanosleep(&pause, NULL);
                                               corescale_region_end("work"); }
           static void* body(void* unused) { visit(20); return unused; }
           int main(void) { int i; pthread_t id; visit(10); visit(30);
             pthread_create(&id, NULL, body, NULL); pthread_join(id, NULL);
             for (i = 0; i < 5000; ++i) { corescale_region_begin("often"); corescale_region_end("often"); }
             return 0; }"""
SPANS_IN_PYTHON = """
import threading, time
from corescale.region import region
def visit(milliseconds):
    with region("work"):
        time.sleep(milliseconds / 1000)
visit(10)
visit(30)
other = threading.Thread(target=visit, args=(20,))
other.start()
other.join()
for _ in range(5000):
    with region("often"):
        pass
"""


@pytest.mark.parametrize("language", ["c", "python"])
def test_spans_say_which_thread_was_in_a_region_and_when(tmp_path: Path, language: str) -> None:
    """As many as are kept; if there are more, what is between them is short. None unless they are asked for."""
    argv: list[str | Path] = [sys.executable, "-c", SPANS_IN_PYTHON]
    if language == "c":
        argv = [build_c(tmp_path, SPANS, "-std=c99", "-D_POSIX_C_SOURCE=200809L")]
    began = time.monotonic()
    run(tmp_path, *argv)
    assert spans(tmp_path / "results") == ()
    for path in (tmp_path / "results").iterdir():
        path.unlink()
    run(tmp_path, *argv, CORESCALE_SPANS="1")
    found = spans(tmp_path / "results")
    work = [one for one in found if one.region == "work"]
    lengths = [one.ended - one.began for one in work]
    assert all(length >= least for length, least in zip(lengths, (0.01, 0.03, 0.02), strict=True))
    assert [one.thread == one.process for one in work] == [True, True, False]
    assert began < work[0].began < work[0].ended <= work[1].began < work[2].began < work[2].ended < time.monotonic()
    seconds = {(one.name, one.thread): one.seconds for one in results(tmp_path).regions}
    assert seconds["work", 0] == pytest.approx(sum(lengths[:2]), abs=1e-6)
    often = [one for one in found if one.region == "often"]
    assert 1 <= len(often) <= 512
    assert often[0].began >= work[1].ended and sum(one.ended - one.began for one in often) >= seconds["often", 0] - 1e-6


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_spans_of_threads_that_run_at_exit(tmp_path: Path, sanitizer: str) -> None:
    source = """static void* forever(void* unused) { for (;;) { corescale_region_begin("spin");
                                                     corescale_region_end("spin"); } return unused; }
                int main(void) { pthread_t id; pthread_create(&id, NULL, forever, NULL); usleep(20000); return 0; }"""
    program = build_c(tmp_path, source, "-D_DEFAULT_SOURCE", f"-fsanitize={sanitizer}", "-g")
    run(tmp_path, program, CORESCALE_SPANS="1")
    assert 1 <= len(spans(tmp_path / "results")) <= 512


def test_spans_of_more_threads_than_are_kept(tmp_path: Path) -> None:
    """Each thread comes after the other, so that all have one place, and none can be joined with another."""
    program = build_c(tmp_path, THREADS + "int main(void) { for (int i = 0; i < 600; ++i) together(1); return 0; }")
    run(tmp_path, program, CORESCALE_SPANS="1")
    found = spans(tmp_path / "results")
    assert len(found) == len({one.thread for one in found}) == 512
