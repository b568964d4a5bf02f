# SPDX-License-Identifier: Apache-2.0
"""What is installed: allocators, compilers and libraries, found by what they are and not by their names."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from corescale.declare.catalogue import allocators, elf
from corescale.errors import CorescaleError, UnavailableError, UsageError
from corescale.observe.doctor import (
    installed,
    permissions,
)

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def shared_object(folder: Path, name: str) -> Path:
    path = folder / name
    source = "#include <stddef.h>\nvoid *malloc(size_t n) { (void)n; return NULL; }\n"
    command = [str(COMPILER), "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=source.encode(), check=True)
    return path


@pytest.mark.parametrize("name", allocators.ALLOCATORS)
def test_every_allocator_is_found_or_says_how_to_get_it(name: str) -> None:
    found = allocators.find(name)
    if found is not None:
        assert elf.refusal(found) is None
        assert allocators.locate(name) == found
    elif name != "system":
        with pytest.raises(UnavailableError, match=r"apt-get install|build"):
            allocators.locate(name)


@needs_compiler
@pytest.mark.parametrize("name", [name for name in allocators.ALLOCATORS if name != "system"])
def test_an_allocator_is_found_by_its_soname_in_the_library_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shared_object(tmp_path, allocators.ALLOCATORS[name].libraries[0].replace("*", ""))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nonexistent:{tmp_path}")
    assert allocators.find(name) == library.resolve()


@needs_compiler
def test_a_broken_library_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "libhoard.so").write_text("INPUT(libhoard.so.1)")
    (tmp_path / "b").mkdir()
    library = shared_object(tmp_path / "b", "libhoard.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert allocators.locate("Hoard") == library.resolve()


@needs_compiler
def test_any_path_of_a_shared_object_will_do(tmp_path: Path) -> None:
    library = shared_object(tmp_path, "my_allocator.so")
    assert allocators.locate(str(library)) == library


def test_a_path_that_ld_preload_cannot_carry_is_a_usage_error(tmp_path: Path) -> None:
    library = shared_object(tmp_path, "my allocator.so")
    with pytest.raises(UsageError, match="blank or colon"):
        allocators.locate(str(library))


@pytest.mark.parametrize("path", ["/bin/true", "/etc/passwd", "/", "/nonexistent/liba.so", "liba.so"])
def test_a_path_of_no_shared_object_is_a_usage_error(path: str) -> None:
    with pytest.raises(UsageError, match=r"\.so file"):
        allocators.locate(path)


@pytest.mark.parametrize("name", ["mimaloc", "system", "", "nothing"])
def test_a_name_of_no_allocator_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError):
        allocators.locate(name)


def test_the_nearest_allocator_is_suggested() -> None:
    with pytest.raises(CorescaleError, match="did you mean mimalloc"):
        allocators.locate("mimaloc")


@needs_compiler
@pytest.mark.parametrize("cut", [3, 5, 16, 40, 63, 64, 100, 5000])
def test_a_truncated_shared_object_is_none(tmp_path: Path, cut: int) -> None:
    content = shared_object(tmp_path, "libx.so").read_bytes()
    (tmp_path / "cut.so").write_bytes(content[:cut])
    assert elf.refusal(tmp_path / "cut.so") == "no shared object"


@needs_compiler
def test_a_shared_object_of_another_machine_is_refused(tmp_path: Path) -> None:
    content = bytearray(shared_object(tmp_path, "libx.so").read_bytes())
    content[18] ^= 0x55
    (tmp_path / "other.so").write_bytes(content)
    assert elf.refusal(tmp_path / "other.so") == "a shared object for another kind of machine"


def test_a_folder_of_ldconfig_counts_once() -> None:
    listing = "2 libs found\n\tlibx.so.1 (libc6,x86-64) => /a/libx.so.1\n\tliby.so (libc6) => /a/liby.so\n\tz => /b/z\n"
    assert allocators.ldconfig_folders(listing) == (Path("/a"), Path("/b"))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("mpirun (Open MPI) 4.1.4", "4.1.4"),
        ("HYDRA build details:\n    Version:    4.0.2\n", "4.0.2"),
        ("slurm 22.05.8", "22.05.8"),
        ("nothing", None),
    ],
)
def test_version_in(text: str, version: str | None) -> None:
    assert installed.version_in(text) == version


@pytest.mark.parametrize(
    ("debian", "plain"),
    [("1:14.0.6-12", "14.0.6"), ("2.0.9+ds-2", "2.0.9"), ("5.3.0-1", "5.3.0"), ("2.10", "2.10")],
)
def test_plain_version(debian: str, plain: str) -> None:
    assert installed.plain_version(debian) == plain


def test_owner_of() -> None:
    assert installed.owner_of("libx1:amd64, libx1:i386: /usr/lib/libx.so") == ("/usr/lib/libx.so", "libx1")


def program(folder: Path, name: str, says: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_two_mpis_under_one_name_are_distinguishable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpirun = program(tmp_path, "mpirun", "mpirun (Open MPI) 4.1.4")
    hydra = program(tmp_path, "mpiexec.hydra", "HYDRA build details: Version: 4.0.2")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {item.name: (item.path, item.version) for item in installed.survey()}
    assert found["Open MPI"] == (mpirun, "4.1.4")
    assert found["MPICH"] == (hydra, "4.0.2")


def test_every_component_is_here_or_says_how_to_get_it() -> None:
    names = [item.name for item in installed.survey()]
    assert names == [*allocators.ALLOCATORS, *(one.name for one in installed.COMPONENTS), *installed.NATIVE]
    for item in installed.survey():
        assert (item.path is None) == (item.remedy is not None)
        assert item.path is None or item.path.exists()


def test_counters_follow_the_kernels_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    level = tmp_path / "proc/sys/kernel/perf_event_paranoid"
    level.parent.mkdir(parents=True)
    allowed = {}
    for text in ("-1", "2", "3"):
        level.write_text(text)
        allowed[text] = permissions.survey(tmp_path)[2].allowed
    assert allowed == {"-1": True, "2": True, "3": False}


def test_a_read_only_memory_group_is_not_allowed(tmp_path: Path) -> None:
    assert not permissions.survey(tmp_path)[1].allowed
