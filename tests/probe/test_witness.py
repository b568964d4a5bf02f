# SPDX-License-Identifier: Apache-2.0
"""The witness in programs that do not expect it."""

import os
import subprocess
from pathlib import Path

import pytest

from corescale import native
from support.processes import FIXTURE, SPAWNER, spawn

WITNESS = str(native.library("libcorescale_witness.so"))


class TestWitness:
    """What is preloaded to be detected, in programs that do not expect it."""

    def test_a_limit_on_file_sizes_does_not_kill_the_program(self, tmp_path: Path) -> None:
        (tmp_path / "witness.log").touch()
        variables = {"LD_PRELOAD": WITNESS, "CORESCALE_WITNESS": str(tmp_path)}
        report = spawn("sh", "-c", f"ulimit -f 0; exec {FIXTURE} nothing", environment=variables)
        assert report.status == "ok"
        assert detected(tmp_path) == ["dash" if "dash" in detected(tmp_path) else "bash"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="changes its user, which only root may")
    def test_a_program_that_changed_its_user_is_detected(self, tmp_path: Path) -> None:
        (tmp_path / "witness.log").touch()
        tmp_path.chmod(0o700)
        with (tmp_path / "witness.log").open("a") as file:
            status = os.fstat(file.fileno())
            told = f"{file.fileno()}:{status.st_dev}:{status.st_ino}"
            variables = {"LD_PRELOAD": WITNESS, "CORESCALE_WITNESS": str(tmp_path), "CORESCALE_WITNESS_FILE": told}
            words = [SPAWNER, "--report", "1", "--inherit", str(file.fileno())]
            words += [word for pair in variables.items() for word in ("--env", "=".join(pair))]
            program = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true"]
            subprocess.run([*words, "--", *program], pass_fds=(file.fileno(),), check=True, stdout=subprocess.PIPE)
        assert detected(tmp_path) == ["setpriv", "true"]

    def test_a_descriptor_that_became_another_file_s_is_left_alone(self, tmp_path: Path) -> None:
        other = tmp_path / "other"
        with other.open("a") as file:
            told = f"{file.fileno()}:0:0"
            variables = {"LD_PRELOAD": WITNESS, "CORESCALE_WITNESS": "/nowhere", "CORESCALE_WITNESS_FILE": told}
            subprocess.run(["true"], env={**os.environ, **variables}, pass_fds=(file.fileno(),), check=True)
        assert other.read_bytes() == b""


def detected(folder: Path) -> list[str]:
    """The names of the programs that the witness was detected from."""
    words = (folder / "witness.log").read_bytes().decode().split("\0")
    return [Path(word).name for word in words[1::4]]
