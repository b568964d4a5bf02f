# SPDX-License-Identifier: Apache-2.0
"""Programs that gcc builds with a sanitizer."""

import subprocess
from pathlib import Path

import pytest

SANITIZERS = pytest.mark.parametrize(
    ("option", "name"), [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")]
)


def built(folder: Path, option: str, body: str) -> Path:
    """A program whose main has this body; skips the test if gcc has no such sanitizer."""
    program, source = folder / "built", folder / "source.c"
    source.write_text(f"int main(void) {{ {body} return 0; }}\n")
    command = ["gcc", f"-fsanitize={option}", "-o", str(program), str(source)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"no gcc with -fsanitize={option}")
    return program
