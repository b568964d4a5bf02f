# SPDX-License-Identifier: Apache-2.0
"""The table of all options of the command line. This folder reads them, and cli/ shows them."""

import dataclasses
import itertools
from dataclasses import dataclass, field
from typing import Any

from corescale.declare.metric_sources import UNKEYED, WRITTEN
from corescale.declare.stop import MOST_BLOCKS
from corescale.errors import UsageError


def option(default: Any, *flags: str, help: str, metavar: str = "", most: int | None = None) -> Any:  # noqa: A002
    """A field that is an option; a list may be repeated; with `most`, the option is a number from 1 to that."""
    limits = {"min": 1, "max": most} if most else {}
    metadata = {"flags": flags, "help": help, "metavar": metavar, "limits": limits}
    if isinstance(default, list):
        return field(default_factory=list, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """The formats of other tools that a result is written in."""

    export_json: str = option("", "--export-json", metavar="FILE", help="write hyperfine's JSON")
    export_csv: str = option("", "--export-csv", metavar="FILE", help="write hyperfine's CSV")
    export_markdown: str = option("", "--export-markdown", metavar="FILE", help="write a Markdown table")
    export_records: str = option("", "--export-records", metavar="FILE", help="write each launch as CSV or *.parquet")
    export_bencher: str = option("", "--export-bencher", metavar="FILE", help="write Bencher's metrics (BMF)")
    export_github: str = option("", "--export-github", metavar="FILE", help="write JSON for github-action-benchmark")
    export_junit: str = option("", "--export-junit", metavar="FILE", help="write JUnit's XML, with each gate as a test")
    export_extrap: str = option("", "--export-extrap", metavar="FILE", help="write Extra-P's JSON lines")


@dataclass(frozen=True, kw_only=True)
class RunRequest(ExportRequest):
    """The options of every measuring verb."""

    on: str = option("", "--on", metavar="NAME", help="launcher, by its name in doctor (default: the first that works)")
    landscape: str = option("", "--landscape", metavar="FILE", help="known times, for --on fake (docs/fake.md)")
    platform: str = option("", "--platform", metavar="FILE", help="a cluster, for --on simgrid (docs/cluster.md)")
    hosts: str = option("", "--hosts", metavar="FILE", help="lines HOST slots=CORES, for --on ssh (docs/cluster.md)")
    allocation: str = option(
        "", "--allocation", metavar="OPTIONS", help="options of salloc, such as '-p NAME -t 9', for --on slurm"
    )
    jobs: int = option(
        1, "--jobs", metavar="K", help="make K launches at once, if a check shows that they do not disturb each other"
    )
    out: str = option("", "--out", metavar="DIR", help="folder of the run folders (default ./corescale-runs)")
    fresh: bool = option(False, "--fresh", help="start a new run, even if one could be continued or shown")
    continued: bool = option(False, "--continue", help="continue the last run of this command, or fail")
    wait_quiet: bool = option(False, "--wait-quiet", help="wait for idle CPUs before each block, at most 10m in all")
    dry_run: bool = option(False, "--dry-run", help="only print the plan and its estimated time")
    json: bool = option(False, "--json", help="print the result as JSON")
    every_variable: bool = option(False, "--every-variable", help="launch lines also set variables that nothing reads")
    verbose: bool = option(False, "-v", "--verbose", help="show every note, also on a terminal")
    quiet: bool = option(False, "-q", "--quiet", help="show no progress")
    report: str = option("", "--report", metavar="FILE", help="write an HTML report")

    @property
    def launching(self) -> dict[str, str]:
        """The given options that belong to a single launcher, by name."""
        return {
            name: value for name in ("landscape", "platform", "hosts", "allocation") if (value := getattr(self, name))
        }


@dataclass(frozen=True, kw_only=True)
class Request(RunRequest):
    """Options of the measuring verbs that take a command. Options that hyperfine also has use its letters."""

    factor: list[str] = option([], "-f", "--factor", metavar="NAME=A,B", help="vary NAME over these levels, or auto")
    parameter_list: list[str] = option([], "-L", "--parameter-list", metavar="NAME A,B", help="fill {NAME} with A, B")
    parameter_scan: list[str] = option(
        [], "-P", "--parameter-scan", metavar="NAME MIN MAX", help="fill {NAME} with MIN, MIN+STEP, ... MAX"
    )
    parameter_step: str = option("", "-D", "--parameter-step-size", metavar="STEP", help="step of -P (default 1)")
    threads: str = option("", "-t", "--threads", metavar="1,2,4", help="thread counts, as -f threads=1,2,4")
    ranks: str = option("", "--ranks", metavar="auto|1,2,4", help="MPI rank counts, as -f ranks=1,2,4 (docs/mpi.md)")
    nodes: str = option("", "--nodes", metavar="1,2,4", help="node counts, as -f nodes=1,2,4 (docs/cluster.md)")
    oversubscribe: bool = option(False, "--oversubscribe", help="also launch more ranks x threads than cores")
    allocators: str = option("", "--allocators", metavar="auto|A,B", help="memory allocators, as -f allocator=A,B")
    baseline: str = option("", "--baseline", metavar="NAME=LEVEL,...", help="baseline levels (default: this shell's)")
    response: str = option(
        "wall",
        "--response",
        metavar="WHAT",
        help=f"what is compared (less is better): wall, {', '.join(UNKEYED)}, region:NAME, metric:NAME",
    )
    metric: list[str] = option([], "--metric", metavar="NAME=SOURCE", help=f"also measure {', '.join(WRITTEN)}")
    max_runs: int = option(40, "-M", "--max-runs", metavar="N", help="at most N blocks (default 40)")
    warmup: int = option(0, "-w", "--warmup", metavar="N", help="first make N untimed launches of each configuration")
    confidence: str = option("95%", "--confidence", metavar="95%", help="confidence of every interval (default 95%)")
    budget: str | None = option(
        None, "--budget", metavar="5m", help="limit of the whole command: 90s, 5m, 100x (launches) or none"
    )
    timeout: str | None = option(None, "--timeout", metavar="60s", help="kill a longer launch; it counts as failed")
    setup: str = option(
        "", "--setup", "-s", metavar="CMD", help="command to run before all launches, which get what its shell exports"
    )
    prepare: str = option("", "--prepare", "-p", metavar="CMD", help="command to run before each launch")
    conclude: str = option("", "--conclude", "-C", metavar="CMD", help="command to run after each launch")
    cleanup: str = option("", "--cleanup", "-c", metavar="CMD", help="command to run after the last launch")
    ignore_failure: bool = option(False, "-i", "--ignore-failure", help="launches may fail; compare counts their time")
    input: str = option("", "--input", metavar="FILE", help="standard input (default: nothing)")
    output: str = option("", "--output", metavar="FILE", help="file for standard output; {NAME} is filled in")
    show_output: bool = option(False, "--show-output", help="show the end of each launch's output")
    cgroup: str = option(
        "auto", "--cgroup", metavar="auto|off", help="off: launch without control groups (docs/results_format.md)"
    )
    shell: bool = option(False, "--shell", help="run the command through /bin/sh")
    no_shell: bool = option(False, "-N", help="use no shell: | and > are text for the program")
    same_output: bool = option(False, "--same-output", help="a launch fails if its output differs")

    @property
    def varies(self) -> bool:
        """Whether a factor is named."""
        listed = (*self.factor, *self.parameter_list, *self.parameter_scan)
        return any((*listed, self.threads, self.ranks, self.nodes, self.allocators))


@dataclass(frozen=True, kw_only=True)
class CountedRequest(Request):
    """Options of the verbs that launch every configuration in each block."""

    runs: int | None = option(
        None, "-r", "--runs", metavar="N", help="make exactly N blocks (default: until --width is reached)"
    )
    min_runs: int = option(8, "-m", "--min-runs", metavar="N", help="make at least N blocks (default 8)")
    width: str = option("2%", "--width", metavar="2%", help="stop when each ratio's interval has this half width")


@dataclass(frozen=True, kw_only=True)
class ScanRequest(CountedRequest):
    """Options of `scan`."""

    serial: str = option("", "--serial", metavar="CMD", help="best serial program, the baseline of the speedup")
    weak: bool = option(False, "--weak", help="weak scaling: work = p x {load}; the command has {load} or {work}")
    seal: bool = option(False, "--seal", help="record a forecast of the largest p before measuring it")
    model: bool = option(False, "--model", help="also fit scaling models, explain the columns and draw the speedup")
    p_ref: int | None = option(
        None, "--p-ref", metavar="P", most=65_536, help="reference p of the speedup (default: the smallest)"
    )


@dataclass(frozen=True, kw_only=True)
class TuneRequest(Request):
    """Options of `tune`."""

    within: str = option("2%", "--within", metavar="2%", help="stop when the answer is this close to the best")
    subject_to: list[str] = option([], "--subject-to", metavar="M<=X", help="bound a metric: 'bytes<=1.02*baseline'")
    max_runs: int = option(MOST_BLOCKS, "-M", "--max-runs", metavar="N", help="at most N launches of a configuration")
    more: bool = option(False, "--more", help="continue the last run, with its budget doubled")
    explain: bool = option(
        False, "--explain", help="first profile a launch, and race only factors that can matter (docs/explain.md)"
    )
    rehearse: str | None = option(
        None, "--rehearse", metavar="ARGS", help="first try a smaller input, given by these arguments"
    )
    confirm: str = option("auto", "--confirm", metavar="N", help="confirmation pairs of winner and baseline, or auto")


@dataclass(frozen=True, kw_only=True)
class CompareRequest(CountedRequest):
    """Options of `compare`."""

    name: list[str] = option([], "-n", "--command-name", metavar="NAME", help="name of each command, in order")
    against: str = option("", "--against", metavar="RUN", help="compare one command with an earlier run")
    gate: list[str] = option(
        [],
        "--gate",
        metavar="5%",
        help="exit 1 if slower by more than this; also mean=5%, cpu=5%, memory=5%, auto or auto=3%",
    )


@dataclass(frozen=True, kw_only=True)
class StudyRequest(RunRequest):
    """Options of `study run`."""

    levels: list[str] = option([], "--levels", metavar="FACTOR=A,B", help="replace the levels of a factor, or auto")
    command: str = option("", "--command", metavar="CMD", help="run this program instead of the study's")
    runs: int | None = option(None, "-r", "--runs", metavar="N", help="exactly N blocks instead of the study's rule")
    replay: bool = option(
        False, "--replay", help="measure the plan of a report.html or a run here, and show what differs"
    )
    until_decided: bool = option(
        False, "--until-decided", help="measure until findings are decided, 8 to 90 blocks (with -r N, at most N)"
    )
    outputs: str = option("", "--outputs", metavar="DIR", help="folder for tables and charts (default: in the run)")


@dataclass(frozen=True, kw_only=True)
class ExplainRequest:
    """Options of `explain`."""

    threads: str = option("", "--threads", "-t", metavar="1,N", help="thread counts; the largest is explained")
    ranks: str = option("", "--ranks", metavar="1,N", help="numbers of MPI ranks (docs/mpi.md)")
    oversubscribe: bool = option(False, "--oversubscribe", help="also launch more ranks x threads than cores")
    before: str = option("", "--before", metavar="RUN", help="show an earlier result (file or folder) next to it")
    swap: bool = option(True, "--swap/--no-swap", help="test causes by launches with one thing changed in each")
    budget: str = option(
        "2m",
        "--budget",
        metavar="2m",
        help="limit of the launches that test causes; equal launches and copies may take a quarter each",
    )
    input: str = option("", "--input", metavar="FILE", help="standard input (default: nothing)")
    timeout: str | None = option(None, "--timeout", metavar="60s", help="kill a launch after this long")
    shell: bool = option(False, "--shell", help="run the command through /bin/sh")
    out: str = option("", "--out", metavar="DIR", help="folder of the results (default ./corescale-runs)")
    outputs: str = option("", "--outputs", metavar="DIR", help="write every view into DIR as PNG and SVG")
    quiet: bool = option(False, "-q", "--quiet", help="show no progress")
    json: bool = option(False, "--json", help="print the result as JSON")

    @property
    def scan(self) -> ScanRequest:
        """The options of its launches, as a request of `scan`."""
        shared = ("threads", "ranks", "oversubscribe", "budget", "input", "timeout", "shell", "out", "quiet")
        return ScanRequest(**{name: getattr(self, name) for name in shared})


REQUESTS = (ScanRequest, TuneRequest, CompareRequest, StudyRequest, ExplainRequest)


def joined(words: list[str]) -> list[str]:
    """The command line with hyperfine's `-L NAME A,B`, `-P NAME MIN MAX` and `-r=5`, up to `--`, as typer has it."""
    result: list[str] = []
    valued = {flag for kind in REQUESTS for field in options(kind) if not isinstance(field.default, bool)
              for flag in field.metadata["flags"]}  # fmt: skip
    lacks = ""
    for word in words[: words.index("--")] if "--" in words else []:
        lacks = word if word in valued and not lacks else ""  # the word after an option is its value
    if lacks:
        raise UsageError("needs a value", where=lacks, remedy="write it between the option and --")
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*result, word, *rest]
        count = {"-L": 2, "--parameter-list": 2, "-P": 3, "--parameter-scan": 3}.get(word, 0)
        if word[:2] in valued and word[2:3] == "=":
            result += [word[:2], word[3:]]
            continue
        result.append(word)
        if count:
            values = list(itertools.islice(rest, 1))
            if values and "=" in values[0]:
                result.append(values[0])
                continue
            values += itertools.islice(rest, count - 1)
            if len(values) < count or "--" in values or _is_command(word, values):
                needs, usual = ("NAME A,B", "-L {} 1,2") if count == 2 else ("NAME MIN MAX", "-P {} 1 8")
                name, levels = (*values, "", "")[:2]
                name = "NAME" if name in ("", "--") else name
                meant = f"-L {name} {levels}" if "," in levels else usual.format(name)
                raise UsageError(f"needs {needs}", where=word, remedy=f"write {meant}, and {{{name}}} in the command")
            result.append("=".join((values[0], ":".join(values[1:]))))
    return result


def _is_command(option: str, values: list[str]) -> bool:
    """Whether the last value of `-L` or `-P` is the command, because levels or MAX are missing."""
    return f"{{{values[0]}}}" in values[-1] or (len(values) == 3 and " " in values[-1].strip())


def options(request: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a request that are options: the verb's own first, exports last."""
    common, exports = ({field.name for field in dataclasses.fields(kind)} for kind in (RunRequest, ExportRequest))
    fields = dataclasses.fields(request)
    return tuple(sorted(fields, key=lambda field: (field.name in common) + (field.name in exports)))
