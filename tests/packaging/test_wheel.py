# SPDX-License-Identifier: Apache-2.0
"""A wheel, repaired as cibuildwheel does it, installed and used in a root that has Python and nothing else.

The programs in it are those of the tests' build, so that none is compiled twice; `packaging/check wheel` compiles them,
by cibuildwheel in a container. The root is a folder with Python's files and libraries, without a shell or a tool; the
libraries that the wheel depends on are those of this environment, read only.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.commands import ROOT

BUILT = ROOT / "build" / "release"
LIBRARIES = next(path for path in map(Path, sys.path) if path.name == "site-packages" and (path / "numpy").is_dir())
UNSHARE = ["unshare", "--mount", "--map-root-user"]
ALLOWED = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
PYTHON = Path(sys.executable).resolve()
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
EXPECTED = [f"lib{name}" for name in ("stdc++.so.6", "gcc_s.so.1", "m.so.6", "dl.so.2", "rt.so.1", "pthread.so.0")]
"""Libraries that any manylinux wheel may expect."""
INSIDE = f"""set -e
cd "$1"
mount --bind {LIBRARIES} libraries
for folder in proc sys dev; do mount --rbind /$folder $folder; done
shift
exec chroot . "$@"
"""


def run(*words: object, **own: str) -> str:
    environment = {"PATH": f"{Path(sys.executable).parent}:{SYSTEM}", **own}
    done = subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources that has the native parts of one program, where CMake installs them."""
    here = tmp_path_factory.mktemp("wheel")
    package = here / "source" / "src" / "corescale"
    shutil.copytree(ROOT / "src" / "corescale", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, here / "source")
    shutil.copytree(ROOT / "studies", package / "studies")
    (package / "bin").mkdir()
    (package / "lib").mkdir()
    for file in (BUILT / "bin" / "corescale-spawn", BUILT / "workloads" / "unit_task" / "unit_task"):
        shutil.copy(file, package / "bin")
    for file in (BUILT / "lib").glob("*.so"):
        shutil.copy(file, package / "lib")
    for file in BUILT.glob("runtime/src/*/libcorescale_*.so.0"):
        shutil.copy(file, package / "lib")
    run("patchelf", "--set-rpath", "$ORIGIN/../lib", package / "bin" / "unit_task")
    for file in (package / "lib").glob("*.so.0"):
        run("patchelf", "--set-rpath", "$ORIGIN", file)
    (package / "commit").write_text("0123456789ab\n")
    as_platform = {"SKBUILD_WHEEL_CMAKE": "false", "SKBUILD_WHEEL_PLATLIB": "true"}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", here / "built", here / "source", **as_platform)
    (built,) = (here / "built").glob("*.whl")
    assert built.name.endswith(f"-py3-none-linux_{os.uname().machine}.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", here / "repaired", built)
    (repaired,) = (here / "repaired").glob("*.whl")
    return repaired


def test_its_name_says_which_systems_it_is_for(wheel: Path) -> None:
    """Some glibc and newer, any Python 3; what every Linux has, and MPI, stay outside."""
    assert re.search(rf"-py3-none-manylinux_2_\d+_{os.uname().machine}\.whl$", wheel.name), wheel.name
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if re.search(r"lib(c|stdc\+\+|gcc_s|mpi)[-.]", name)]


@pytest.fixture(scope="module")
def bare(wheel: Path) -> Path:
    """A root: Python, its library, what both link to and the libraries that any manylinux wheel may expect."""
    root = wheel.parents[1] / "root"
    for folder in ("usr/bin", "usr/local", "tmp", "proc", "sys", "dev", "libraries", "etc"):
        (root / folder).mkdir(parents=True)
    standard = Path(os.__file__).parent
    shutil.copytree(standard, root / str(standard).lstrip("/"), ignore=shutil.ignore_patterns(
        "__pycache__", "EXTERNALLY-MANAGED", "site-packages", "dist-packages", "test", "idlelib"))  # fmt: skip
    shutil.copy(PYTHON, root / "usr" / "bin" / "python3")
    expected = [path for name in EXPECTED for path in found(name)]
    loaded = [PYTHON, *standard.glob("lib-dynload/*.so"), *expected]
    needed = {*re.findall(r"(/\S+) \(0x", run("ldd", *loaded)), *map(str, expected)}
    for library in needed:
        (root / library.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library.lstrip("/"))
    shutil.copy(wheel, root / "tmp")
    shutil.copy(ROOT / "packaging" / "try.py", root / "tmp")
    return root


def found(library: str) -> list[Path]:
    """A shared library as the loader finds it."""
    return [Path(path) for path in re.findall(rf"{re.escape(library)} .*=> (\S+)", run("ldconfig", "-p"))][:1]


@pytest.mark.skipif(not ALLOWED, reason="this machine allows no namespace of mounts (unshare --mount)")
def test_it_is_installed_and_used_where_only_python_is(wheel: Path, bare: Path) -> None:
    installed = f"/usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    here = {path.name for path in LIBRARIES.glob("*corescale*")}
    own = {"PYTHONPATH": f"{installed}:/libraries", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"}

    def inside(*words: str) -> str:
        return run(*UNSHARE, "sh", "-c", INSIDE, "sh", bare, *words, **own, PATH=f"/usr/local/bin:{SYSTEM}")

    assert not (bare / "bin" / "sh").exists() and not (bare / "usr" / "bin" / "gcc").exists()
    # Else pip uninstalls this environment's corescale, which it sees among the libraries.
    pip = ["/usr/bin/python3", "-m", "pip", "install", "--ignore-installed", "--no-deps", "--no-index", "--no-compile"]
    inside(*pip, "--prefix=/usr/local", f"/tmp/{wheel.name}")
    said = inside("/usr/bin/python3", "/tmp/try.py").splitlines()
    version = re.fullmatch(r"corescale \S+ \(commit 0123456789ab; (\S+), GCC \S+\)", said[0])
    assert version and version[1] in wheel.name, said[0]
    assert len(said) == 4
    assert here == {path.name for path in LIBRARIES.glob("*corescale*")}
