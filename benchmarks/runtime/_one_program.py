# SPDX-License-Identifier: Apache-2.0
"""The command line of a benchmark that is one program, whose lines of JSON become a page."""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corescale.machine import Machine

Lines = Sequence[dict[str, Any]]


def print_page(description: str, program: Path, page: Callable[[Lines, int, str], str]) -> None:
    """Runs the program, and prints and writes page(its lines, blocks, where and when they were measured)."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--program", type=Path, default=program)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--note", default="", help="a sentence about the circumstances")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    line = [str(asked.program.resolve()), str(asked.blocks)]
    with tempfile.TemporaryDirectory() as folder:  # ADOL-C leaves its tapes where it is called
        out = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout
    where = " ".join(filter(None, [f"{Machine.here().in_words}.", asked.note]))
    text = page([json.loads(line) for line in out.splitlines()], asked.blocks, where)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")
