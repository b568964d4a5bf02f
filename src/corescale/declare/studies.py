# SPDX-License-Identifier: Apache-2.0
"""The studies that ship with corescale: beside the package in a wheel, at the root of a source tree."""

from pathlib import Path

from corescale.declare import paths, programs
from corescale.errors import UsageError, nearest


def shipped() -> dict[str, Path]:
    """The studies by name, in the order of the alphabet."""
    return {path.stem: path for path in sorted(programs.folder("studies").glob("*.toml"))}


def find(name_or_file: str) -> Path:
    """A study by its name, or any by its file; raises UsageError."""
    path = Path(name_or_file)
    if paths.is_file(path):
        return path
    known = shipped()
    if name_or_file in known:
        return known[name_or_file]
    if path.suffix == ".toml" and paths.exists(path):
        raise UsageError("is not a file", where=name_or_file, remedy="name the TOML file of a study")
    remedy = nearest(path.stem, known, "corescale study list names the studies that ship")
    raise UsageError("no such study", where=name_or_file, remedy=remedy)


TEMPLATE = """\
#:schema {schema}
# A study says what is launched, what is varied, when to stop and what is written. The guide is docs/study.md.
#   corescale study check FILE     check the file; launches nothing
#   corescale study run FILE       measure; the same command continues after an interruption

title = "How the ant colony scales with its work"

# Words in braces are filled from factors and derived parameters. {{data}}: files that ship with corescale;
# {{here}}: the folder of this file. Without {{threads}} the usual variables (OMP_NUM_THREADS, ...) are set together.
command = "ant_colony --instance {{data}}/tsplib/berlin52.tsp --seed 1 --cycles {{cycles}}"

# What is varied, and its levels; the kind follows from the name: {kinds};
# a {{placeholder}} of the command; an environment variable in capitals.
# "auto": the levels that suit this machine.
[factors]
threads = "auto"
allocator = ["system", "mimalloc"]
rounds = [1, 2]

# Parameters computed from others by + - * / // % and isqrt gcd sqrt min max.
[derived]
cycles = "10 * rounds"

# Columns of the outputs, computed for each launch.
[columns]
rate = "cycles / time"

# When enough was measured: rule = "replicates" (N blocks), "width" (each ratio to 2%), "decided" (findings) or "race".
[stop]
rule = "replicates"
replicates = 10

# Outputs. Columns: factors, derived parameters, metrics, [columns], and time, p, replicate, peak_memory, machine, ...
[[table]]
name = "launches"
columns = {{ Threads = "threads", Allocator = "allocator", Cycles = "cycles", Replicate = "replicate", Time = "time" }}

[[chart]]
name = "times"
kind = "bars"
title = "Time by allocator"
x = "allocator"
y = "time"
facet = ["rounds", "threads"]

# A statement about the ratio y(a) / y(b), compared within blocks at every other level.
[[finding]]
name = "mimalloc"
statement = "mimalloc is faster than the system's allocator"
a = {{ allocator = "system" }}
b = {{ allocator = "mimalloc" }}
each = ["threads"]
claim = "> 1"
"""
"""What `study new` writes; `schema`, `file` and `kinds` are filled in."""
