# SPDX-License-Identifier: Apache-2.0
"""Published scaling bugs in their projects' own programs, explained: scripts/bench published_bugs [--get] [NAME ...].

--get installs the programs that are packages, builds those whose sources are fetched, and writes the inputs of all, in
FOLDER. Three are neither: whoever has built one puts it where its command looks. Without --get, each is explained once.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("build/published-bugs")

FIT = """
import numpy, sklearn.ensemble
random = numpy.random.default_rng(1)
x = random.random((1000, 10))
y = (x.sum(axis=1) > 5).astype(int)
for _ in range(15):
    sklearn.ensemble.HistGradientBoostingClassifier(early_stopping=False).fit(x, y)
"""

READS = """
import random
drawn = random.Random(1)
bases = "".join(drawn.choices("ACGT", k=100_000))
print("@SQ\\tSN:chr1\\tLN:100000000")
for read in range(600_000):
    at, text = drawn.randrange(100_000_000 - 100), drawn.randrange(100_000 - 100)
    print(f"r{read}\\t0\\tchr1\\t{at + 1}\\t60\\t100M\\t*\\t0\\t0\\t{bases[text:text + 100]}\\t{'I' * 100}")
"""

TREE = """
import pathlib
for folder in range(400):
    at = pathlib.Path("tree", str(folder % 20), str(folder))
    at.mkdir(parents=True, exist_ok=True)
    for file in range(500):
        (at / f"picture-{file}.{'jpg' if file % 3 else 'png'}").touch()
"""


WIDE = """
import lightgbm, numpy
random = numpy.random.default_rng(1)
table = random.random((200, 30_000))
lightgbm.LGBMRegressor(n_estimators=20).fit(table, table[:, 0])
"""

REFERENCE = """
import random
drawn = random.Random(1)
for chromosome in range(24):
    print(f">chr{chromosome}")
    bases = "".join(drawn.choices("ACGT", k=1_000_000))
    for at in range(0, len(bases), 100):
        print(bases[at : at + 100])
"""

POINTERS = """
#include <boost/shared_ptr.hpp>
#include <cstdlib>
#include <thread>
#include <vector>

// Each thread loads pointers of its own, as if others could change them.
long load_own(long times) {
  std::vector<boost::shared_ptr<long>> own;
  for (long i = 0; i < 1000; ++i) own.push_back(boost::shared_ptr<long>(new long(i)));
  long sum = 0;
  for (long i = 0; i < times; ++i) sum += *boost::atomic_load(&own[i % 1000]);
  return sum;
}

int main(int, char** word) {
  const int threads = std::atoi(word[1]);
  std::vector<std::thread> made;
  for (int k = 0; k < threads; ++k) made.emplace_back([=] { load_own(40'000'000 / threads); });
  for (auto& one : made) one.join();
}
"""


def _sources(project: str, commit: str) -> str:
    """Fetches the project's files as of the commit, in a folder of its name."""
    name = project.partition("/")[2]
    return f"[ -d {name} ] || git clone -q https://github.com/{project}\ngit -C {name} checkout -q {commit}\n"


@dataclass(frozen=True)
class Bug:
    """A report, and the program that it is about."""

    report: str
    get: str
    """commands of a shell in FOLDER"""
    command: tuple[str, ...]


BUGS = {
    "allocator": Bug(
        "https://github.com/sharkdp/fd/pull/481",
        "[ -d fd ] || cargo install -q fd-find --version 7.3.0 --locked --root fd\n[ -d tree ] || python3 tree.py",
        ("fd/bin/fd", "-j", "{threads}", r"[0-9]\.jpg$", "tree"),
    ),
    "false_sharing": Bug(
        "https://doi.org/10.1145/3314221.3314644",
        # phoenix 2.0 at 1276c8d
        "[ -f points ] || head -c 500M /dev/urandom >points",
        # Unbuffered, since the array then lies where the sums of two threads share a line.
        ("stdbuf", "-o0", "phoenix/phoenix-2.0/tests/linear_regression/linear_regression-pthread", "points"),
    ),
    "lock_pool": Bug(
        "https://stackoverflow.com/questions/11037655",
        "g++ -std=c++17 -O2 -g -pthread -o pointers pointers.cpp",
        ("./pointers", "{threads}"),
    ),
    "state_pool": Bug(
        "https://github.com/kokkos/kokkos/pull/4218",
        _sources("kokkos/kokkos", "4482a5703")
        + "cmake -S kokkos -B kokkos/build -DKokkos_ENABLE_OPENMP=ON -DCMAKE_INSTALL_PREFIX=$PWD/kokkos/installed\n"
        "cmake --build kokkos/build -j 2 && cmake --install kokkos/build\n"
        "g++ -std=c++14 -O3 -g -fopenmp -I kokkos/installed/include -o random_numbers"
        " kokkos/example/tutorial/Algorithms/01_random_numbers/random_numbers.cpp"
        " -L kokkos/installed/lib -lkokkoscontainers -lkokkoscore -ldl",
        ("./random_numbers", "20000000", "1"),
    ),
    "spinning": Bug(
        "https://github.com/scikit-learn/scikit-learn/issues/30662",
        "[ -d python ] || python3 -m venv python\npython/bin/pip -q install scikit-learn==1.6.1",
        ("python/bin/python", "fit.py"),
    ),
    "logging": Bug(
        "https://github.com/gabime/spdlog/issues/1810",
        # spdlog v1.8.2 and its benchmark, which asks for a locale of its own
        "mkdir -p locale logs && { [ -d locale/en_US.UTF-8 ] || localedef -i en_US -f UTF-8 locale/en_US.UTF-8; }",
        ("env", "LOCPATH=locale", "spdlog/build/bench/bench", "250000", "{threads}"),
    ),
    "serial_tail": Bug(
        "https://github.com/samtools/samtools/pull/1701",
        # samtools 1.16.1 with names, which Debian's has not
        "[ -f reads.bam ] || python3 reads.py | samtools/samtools view -b -o reads.bam -",
        ("samtools/samtools", "sort", "-u", "-@", "{threads}", "-o", "sorted.bam", "reads.bam"),
    ),
    "serial_sort": Bug(
        "https://github.com/ksahlin/strobealign/pull/386",
        _sources("ksahlin/strobealign", "v0.12.0")
        + "cmake -S strobealign -B strobealign/build -DCMAKE_BUILD_TYPE=RelWithDebInfo\n"
        "cmake --build strobealign/build -j 2 --target strobealign\npython3 reference.py >reference.fa",
        ("strobealign/build/strobealign", "-t", "{threads}", "--create-index", "-r", "150", "reference.fa"),
    ),
    "serial_finish": Bug(
        "https://github.com/lh3/minibwa/pull/8",
        _sources("lh3/minibwa", "c42d875") + "make -s -j 2 -C minibwa\npython3 reference.py >reference.fa",
        ("minibwa/minibwa", "index", "-t", "{threads}", "reference.fa", "reference"),
    ),
    "serial_start": Bug(
        "https://github.com/lightgbm-org/LightGBM/issues/4037",
        "[ -d boosting ] || python3 -m venv boosting\n"
        "boosting/bin/pip -q install lightgbm==3.1.1 'numpy<1.24' 'scikit-learn<1.3'",
        ("boosting/bin/python", "wide.py"),
    ),
}


def get(names: Sequence[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {"fit.py": FIT, "reads.py": READS, "tree.py": TREE, "wide.py": WIDE, "pointers.cpp": POINTERS}
    files["reference.py"] = REFERENCE
    for file, text in files.items():
        (FOLDER / file).write_text(text)
    for name in names:
        subprocess.run(["bash", "-euc", BUGS[name].get], cwd=FOLDER, check=True)


def explain(name: str, options: Sequence[str]) -> None:
    command = Path(sys.executable).with_name("corescale")
    line = ["explain", "-t", "1,2", *options, "--", *BUGS[name].command]
    print(f"\n{name}: {BUGS[name].report}\n$ corescale {' '.join(line)}", flush=True)
    subprocess.run([command, *line], cwd=FOLDER, check=False, stderr=subprocess.STDOUT)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--get", action="store_true", help="install packages, write inputs")
    parser.add_argument("--budget", default="", help="of the swaps; without it there are none")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BUGS)} [all]")
    arguments = parser.parse_args()
    names = arguments.names or list(BUGS)
    if arguments.get:
        get(names)
    for name in () if arguments.get else names:
        explain(name, ("--budget", arguments.budget) if arguments.budget else ("--no-swap",))


if __name__ == "__main__":
    main()
