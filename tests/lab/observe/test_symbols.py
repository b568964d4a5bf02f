# SPDX-License-Identifier: Apache-2.0
"""Addresses as places, in languages whose libraries are linked into the program."""

import subprocess
import time
from pathlib import Path

import pytest

from corescale.conclude.explain.sites import own
from corescale.observe.symbols import Symbols, demangled
from corescale.profile import Place

NAMES = {
    "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended": (
        "std::sys::sync::mutex::futex::Mutex::lock_contended"
    ),
    "_ZN3std2io5stdio6_print17hb20173f43497047cE": "std::io::stdio::_print",
    "_RNvCs9ltgdHTiPiY_2rs4main": "rs::main",
    "_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE": (
        "core::ops::function::FnOnce::call_once{{vtable.shim}}"
    ),
    "_ZN2rs4main17h0123456789abcdefE": "rs::main",
    "_ZNSt6vectorIiE3fooEv": "std::vector<int>::foo()",
    "runtime.asyncPreempt.abi0": "runtime.asyncPreempt.abi0",
    "main.main.func1": "main.main.func1",
}


@pytest.mark.parametrize("mangled", NAMES)
def test_names_are_read_as_they_are_written(mangled: str) -> None:
    assert demangled(mangled) == NAMES[mangled]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Place]:
    """A function of each name, and the place that it has."""
    folder = tmp_path_factory.mktemp("named")
    lines = [f'.globl "{name}"\n.type "{name}", @function\n"{name}": ret\n.size "{name}", 1' for name in NAMES]
    (folder / "named.s").write_text(".text\n" + "\n".join(lines) + "\n")
    file = folder / "named.so"
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", file, folder / "named.s"], check=True)
    listed = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines() if " T " in line}
    name = Symbols(f"0 0-{1 << 20:x} r-xp 00000000 00:00 1 {file}")
    return {mangled: name(at[mangled]) for mangled in NAMES}


@pytest.mark.parametrize(("inner", "outer"), [
    ("_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended", "_RNvCs9ltgdHTiPiY_2rs4main"),
    ("_ZN3std2io5stdio6_print17hb20173f43497047cE", "_ZN2rs4main17h0123456789abcdefE"),
    ("runtime.asyncPreempt.abi0", "main.main.func1"),
])  # fmt: skip
def test_a_linked_library_is_called_from_the_program(program: dict[str, Place], inner: str, outer: str) -> None:
    places = list(program.values())
    frames = [list(program).index(inner), list(program).index(outer)]
    assert own((frames[0], frames[1]), places.__getitem__).function == NAMES[outer]
    assert own((frames[0],), places.__getitem__).function == NAMES[inner]


def test_a_file_that_changed_later_names_nothing(tmp_path: Path) -> None:
    """The next build of a program has its functions elsewhere."""
    file = tmp_path / "built.so"
    (tmp_path / "built.s").write_text(".text\n.globl work\n.type work, @function\nwork: ret\n.size work, 1\n")
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", file, tmp_path / "built.s"], check=True)
    maps = f"0 1000-9000 r-xp 00000000 00:00 1 {file}"
    functions = (Symbols(maps)(0x1000 + k).function for k in range(0x3000))
    (address,) = (0x1000 + k for k, function in enumerate(functions) if function == "work")
    earlier, later = (Symbols(maps, time.time() + by) for by in (-60, 60))
    assert later(address).function == "work" and not later.lost
    assert earlier(address).function == f"built.so+{address - 0x1000:#x}" and earlier.lost == {"built.so"}


def test_code_of_no_file_is_one_place() -> None:
    name = Symbols("")
    assert name(0x7F0000001000) == name(0x7F0000002000)
