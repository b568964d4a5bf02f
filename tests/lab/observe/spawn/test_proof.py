# SPDX-License-Identifier: Apache-2.0
"""What a traced launch proves, and what a preloaded witness tells."""

import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from corescale import native
from support.processes import FIXTURE, alive, daemon_of, fixture, spawn


class TestProof:
    def proof(self, *argv: str, **options: Any) -> dict[str, Any]:
        report = spawn(*argv, prove=True, **options)
        assert report.proof is not None
        return {Path(program.executable).name: program for program in report.proof}

    def test_dynamic_program(self) -> None:
        program = self.proof(FIXTURE, "nothing")["spawner_fixture"]
        assert program.readable
        assert not (program.static or program.setuid or program.replaced)
        assert any("libstdc++" in path for path in program.maps)

    def test_preload_is_seen(self) -> None:
        witness = str(native.library("libcorescale_witness.so"))
        for what in ("nothing", "exit-from-thread", "exit-beside-main"):
            assert witness in self.proof(FIXTURE, what, environment={"LD_PRELOAD": witness})["spawner_fixture"].maps

    def test_static_program(self) -> None:
        program = self.proof(str(native.find("spawner_fixture_static")), "nothing")["spawner_fixture_static"]
        assert program.static
        assert program.readable
        assert not any(".so" in path for path in program.maps)

    @pytest.mark.skipif(not Path("/sbin/ldconfig").exists(), reason="no ldconfig here")
    def test_static_program_named_as_a_loader_that_maps_a_file(self) -> None:
        assert self.proof("/sbin/ldconfig", "-p")["ldconfig"].static

    def test_script_that_execs(self, tmp_path: Path) -> None:
        found = self.proof(self.script(tmp_path, f"exec {FIXTURE} nothing"))
        assert found["dash" if "dash" in found else "bash"].replaced
        assert not found["spawner_fixture"].replaced
        assert found["spawner_fixture"].readable

    def test_script_that_forks(self, tmp_path: Path) -> None:
        script = self.script(tmp_path, f"{FIXTURE} nothing\n{native.find('spawner_fixture_static')} nothing")
        found = self.proof(script)
        assert found["spawner_fixture"].readable
        assert found["spawner_fixture_static"].static
        assert found["dash" if "dash" in found else "bash"].readable

    def script(self, tmp_path: Path, body: str) -> str:
        path = tmp_path / "wrapper"
        path.write_text(f"#!/bin/sh\n{body}\n:\n")
        path.chmod(0o755)
        return str(path)

    def test_exec_from_a_thread(self) -> None:
        found = self.proof(FIXTURE, "exec-from-thread")
        assert found["spawner_fixture"].replaced
        assert found["true"].readable

    def test_setuid_program(self, tmp_path: Path) -> None:
        copy = tmp_path / "set-id"
        copy.write_bytes(Path(FIXTURE).read_bytes())
        copy.chmod(0o755 | stat.S_ISUID)
        assert self.proof(str(copy), "nothing")["set-id"].setuid

    @pytest.mark.parametrize(("what", "code"), [("catch", 0), ("stop", 0), ("exit-beside-main", 7), ("inspect", 0)])
    def test_tracing_changes_no_behaviour(self, what: str, code: int) -> None:
        assert fixture(what, prove=True, timeout=20).exit_code == fixture(what, timeout=20).exit_code == code

    def test_signals_pass_through(self) -> None:
        assert fixture("signal", int(signal.SIGSEGV), prove=True).signal == signal.SIGSEGV

    def test_time_out_kills_what_is_traced(self, tmp_path: Path) -> None:
        assert fixture("daemon", 100, tmp_path / "pid", timeout=0.5, prove=True).status == "timeout"
        assert not alive(daemon_of(tmp_path / "pid"))

    def test_many_threads(self) -> None:
        assert self.proof(FIXTURE, "burn-threads", "16", timeout=60)["spawner_fixture"].readable


class TestWitness:
    def witnesses(self, tmp_path: Path, *argv: str, preload: str = "") -> list[list[str]]:
        witness = native.library("libcorescale_witness.so")
        libraries = f"{witness}:{preload}" if preload else str(witness)
        spawn(*argv, environment={"LD_PRELOAD": libraries, "CORESCALE_WITNESS": str(tmp_path)})
        fields = [field for path in sorted(tmp_path.iterdir()) for field in path.read_text().split("\0")[:-1]]
        return [fields[i : i + 5] for i in range(0, len(fields), 5)]

    def test_names_program_and_allocator(self, tmp_path: Path) -> None:
        ((process, executable, malloc, operator_new, regions),) = self.witnesses(tmp_path, FIXTURE, "nothing")
        assert int(process) > 0
        assert executable == FIXTURE
        assert "libc.so" in malloc
        assert Path(operator_new).name.startswith("libstdc++")
        assert not regions

    def test_programs_that_give_way_are_seen(self, tmp_path: Path) -> None:
        seen = self.witnesses(tmp_path, "sh", "-c", f"exec {FIXTURE} exit-from-thread")
        assert [Path(fields[1]).name for fields in seen][-1] == "spawner_fixture"
        assert len(seen) == 2

    def test_a_preloaded_allocator_is_named(self, tmp_path: Path) -> None:
        allocator = Path("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2")
        if not allocator.exists():
            pytest.skip("libmimalloc is not installed (apt-get install libmimalloc2.0)")
        ((_, _, malloc, *_),) = self.witnesses(tmp_path, FIXTURE, "nothing", preload=str(allocator))
        assert malloc == str(allocator)
