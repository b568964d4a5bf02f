# SPDX-License-Identifier: Apache-2.0
"""The witness in programs that do not expect it."""

from pathlib import Path

from corescale import native
from support.processes import FIXTURE, spawn

WITNESS = str(native.library("libcorescale_witness.so"))


class TestWitness:
    """What is preloaded to be detected, in programs that do not expect it."""

    def test_a_limit_on_file_sizes_does_not_kill_the_program(self, tmp_path: Path) -> None:
        (tmp_path / "witness.log").touch()
        variables = {"LD_PRELOAD": WITNESS, "CORESCALE_WITNESS": str(tmp_path)}
        report = spawn("sh", "-c", f"ulimit -f 0; exec {FIXTURE} nothing", environment=variables)
        assert report.status == "ok"
        assert detected(tmp_path) == ["dash" if "dash" in detected(tmp_path) else "bash"]


def detected(folder: Path) -> list[str]:
    """The names of the programs that the witness was detected from."""
    words = (folder / "witness.log").read_bytes().decode().split("\0")
    return [Path(word).name for word in words[1::5]]
