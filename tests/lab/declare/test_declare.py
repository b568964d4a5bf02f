# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one test for each line that is refused)
"""From a command line to configurations, launches and blocks."""

import dataclasses
import itertools
import os
import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from corescale.declare import command_line, factors, plan, study_file, template
from corescale.declare.catalogue import allocators
from corescale.declare.command_line import named_factors
from corescale.declare.experiment import Constraint, Experiment
from corescale.declare.factors.placement import Smt
from corescale.declare.grid import baseline, configurations, launch, untyped
from corescale.declare.request import CompareRequest, ScanRequest, TuneRequest, joined
from corescale.errors import CorescaleError, UsageError
from corescale.machine import Machine
from corescale.observe.hooks import HookRunner
from corescale.records import Configuration, Layout, Level
from corescale.show import naming
from support.typed import scan, tune


@pytest.fixture(scope="module")
def machine() -> Machine:
    """This machine with two allowed cores, so that the plan is the same wherever the tests run."""
    here = Machine.here()
    return dataclasses.replace(here, affinity=(0, 1), quota_cores=None)


def lines(experiment: Experiment, machine: Machine) -> list[str]:
    return [launch(experiment, c, machine).line for c in configurations(experiment)]


def test_threads_placeholder_becomes_argv_and_baseline_is_the_maximum(machine: Machine) -> None:
    experiment = scan(machine, "pigz", "-p", "{threads}", "my file")
    assert baseline(experiment).layout == Layout(2)
    assert lines(experiment, machine) == ["pigz -p 2 'my file'", "pigz -p 1 'my file'"]


def test_without_placeholder_the_usual_variables_are_set_together(machine: Machine) -> None:
    experiment = scan(machine, "./program", threads="1")
    environment = launch(experiment, baseline(experiment), machine).environment
    assert dict(environment) == dict.fromkeys(factors.THREAD_VARIABLES, "1")


def test_a_grid_has_every_combination_once_and_baseline_first(machine: Machine) -> None:
    experiment = tune(machine, "pigz", "-{level}", "-p", "{threads}", factor=["level=3,6,9"], threads="1,2")
    grid = configurations(experiment)
    assert len(grid) == len(set(grid)) == 6
    assert grid[0] == baseline(experiment) == Configuration((("threads", 2), ("level", 3)), Layout(2))


def test_baseline_can_be_given(machine: Machine) -> None:
    experiment = tune(machine, "x", "{level}", factor=["level=3,6"], threads="1,2", baseline="threads=1,level=6")
    assert baseline(experiment) == Configuration((("threads", 1), ("level", 6)), Layout(1))


def test_parameter_scan_and_list_as_hyperfine_has_them(machine: Machine) -> None:
    words = joined(["-P", "size", "1", "3", "-D", "0.5", "-L", "mode", "a,b", "--", "x", "-L", "y", "z"])
    assert words == ["-P", "size=1:3", "-D", "0.5", "-L", "mode=a,b", "--", "x", "-L", "y", "z"]
    experiment = scan(
        machine, "x", "{size}", "{mode}", parameter_scan=["size=1:3"], parameter_step="0.5", parameter_list=["mode=a,b"]
    )
    levels = {factor.name: factor.levels for factor in experiment.factors}
    assert levels["size"] == (1, 1.5, 2, 2.5, 3)
    assert levels["mode"] == ("a", "b")


def test_compare_makes_a_factor_of_its_commands(machine: Machine) -> None:
    experiment = command_line.compare(CompareRequest(name=["old"]), ["xz -T1 f", "xz -T2 f"], machine)
    assert [c.label for c in configurations(experiment)] == ["old", "xz -T2 f"]
    assert lines(experiment, machine) == ["xz -T1 f", "xz -T2 f"]


def test_serial_is_one_more_configuration_with_p_1(machine: Machine) -> None:
    experiment = scan(machine, "pigz -p {threads} f", serial="gzip f")
    last = configurations(experiment)[-1]
    assert (last["command"], last.layout.p) == ("serial", 1)
    assert launch(experiment, last, machine).command == ("gzip", "f")


def test_capital_names_are_variables_and_unset_removes_them(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    experiment = tune(machine, "x", factor=["OMP_WAIT_POLICY=unset,passive"], threads="2")
    as_typed, *others = configurations(experiment)
    assert as_typed["OMP_WAIT_POLICY"] == "active"
    assert "OMP_WAIT_POLICY" not in launch(experiment, as_typed, machine).environment
    assert [launch(experiment, c, machine).environment["OMP_WAIT_POLICY"] for c in others] == [None, "passive"]
    assert lines(experiment, machine)[1].startswith("env -u OMP_WAIT_POLICY ")


@pytest.mark.parametrize(
    ("inherited", "words", "threads", "line"),
    [
        ({}, ["x"], 2, "x"),
        ({"OMP_NUM_THREADS": "1"}, ["x"], 1, "x"),
        ({"GOMAXPROCS": "4"}, ["x"], 4, "x"),
        ({"OMP_NUM_THREADS": "1,2"}, ["x"], 1, "x"),
        ({"OMP_NUM_THREADS": "1"}, ["x", "{threads}"], 2, "x 2"),
        ({"OMP_NUM_THREADS": "many"}, ["x"], 2, "x"),
    ],
)
def test_the_baseline_is_what_the_shell_has(
    inherited: dict[str, str],
    words: list[str],
    threads: int,
    line: str,
    two_cores: Machine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in factors.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    experiment = tune(two_cores, *words, threads="1,2")
    assert baseline(experiment).layout.threads_per_rank == threads
    assert launch(experiment, baseline(experiment), two_cores).line == line
    others = [launch(experiment, c, two_cores).line for c in configurations(experiment) if c != baseline(experiment)]
    assert line not in others
    asked = tune(two_cores, *words, threads="1,2", baseline="threads=1")
    assert baseline(asked).layout.threads_per_rank == 1
    assert launch(asked, baseline(asked), two_cores).line != "x"


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        ({"allocators": "MINE"}, {"threads": 2, "allocator": "system"}),
        ({"factor": ["allocator=MINE"], "threads": "2"}, {"threads": 2, "allocator": "system"}),
        ({"threads": "4,8"}, {"threads": 2}),
        ({"threads": "2", "factor": ["bind=close:cores"]}, {"threads": 2, "bind": "inherited"}),
        ({"threads": "2", "factor": ["smt=off"]}, {"threads": 2, "smt": "on"}),
        ({"threads": "2", "factor": ["affinity=0/1"]}, {"threads": 2, "affinity": "0-1"}),
        ({"threads": "2", "factor": ["OMP_SCHEDULE=static,dynamic"]}, {"threads": 2, "OMP_SCHEDULE": "unset"}),
    ],
)
def test_what_the_shell_launches_is_raced_though_nobody_asked_for_it(
    options: dict[str, object], levels: dict[str, object], two_cores: Machine, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in (*factors.THREAD_VARIABLES, "OMP_SCHEDULE", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Smt, "unavailable", lambda *_: None)
    (tmp_path / "mine.so").write_bytes(b"\x7fELF")
    monkeypatch.setattr(allocators, "locate", lambda _: tmp_path / "mine.so")
    experiment = tune(two_cores, "x", **options)
    assert dict(baseline(experiment).levels) == levels
    assert baseline(experiment) in configurations(experiment)
    assert launch(experiment, baseline(experiment), two_cores).line == "x"
    assert not untyped(experiment)
    assert len(configurations(experiment)) > 1


def test_what_the_shell_gives_is_of_the_circumstances_and_not_of_what_was_asked(
    two_cores: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run of another OMP_NUM_THREADS is the next of the same folder, and says what changed."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = tune(two_cores, "x", threads="1,2")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    two = tune(two_cores, "x", threads="1,2")
    assert baseline(one) != baseline(two) and one.hash == two.hash
    assert one.hash != tune(two_cores, "x", threads="1,2", baseline="threads=1").hash


def test_a_placeholder_has_no_level_in_a_shell(two_cores: Machine) -> None:
    experiment = tune(two_cores, "x", "{threads}", "{mode}", threads="1,2", factor=["mode=a,b"])
    assert untyped(experiment) == (("threads", 2), ("mode", "a"))
    assert untyped(tune(two_cores, "x", threads="1,2", baseline="threads=1")) == (("threads", 1),)


def test_bind_sets_both_variables(machine: Machine) -> None:
    experiment = tune(machine, "x", factor=["bind=inherited,close:cores"], threads="2")
    environment = launch(experiment, configurations(experiment)[1], machine).environment
    assert (environment["OMP_PROC_BIND"], environment["OMP_PLACES"]) == ("close", "cores")


def test_affinity_is_a_mask(machine: Machine) -> None:
    experiment = tune(machine, "x", factor=["affinity=0-1/1"], threads="1", baseline="threads=1")
    assert [launch(experiment, c, machine).affinity for c in configurations(experiment)] == [None, (1,)]
    assert "taskset -c 1 " in lines(experiment, machine)[1]


def test_the_shell_is_involved_only_when_asked(machine: Machine) -> None:
    plain = command_line.scan(ScanRequest(threads="1"), ["echo '$HOME' true"], machine)
    assert launch(plain, baseline(plain), machine).command == ("echo", "$HOME", "true")
    with pytest.raises(UsageError, match="is for a shell, and no shell is used; write sh -c"):
        command_line.scan(ScanRequest(threads="1"), ["echo $HOME"], machine)
    shell = command_line.scan(ScanRequest(threads="1", shell=True), ["echo $HOME; true"], machine)
    assert launch(shell, baseline(shell), machine).command == ("/bin/sh", "-c", "echo $HOME; true")


@pytest.mark.parametrize(
    ("words", "options", "says"),
    [
        (("pigz", "-p", "{thread}"), {}, "did you mean {threads}?"),
        (("x", "{size}"), {}, "-L size a,b"),
        (("x", "{l}"), {"factor": ["l="]}, "no level"),
        (("x", "{l}"), {"factor": ["l=1,,2"]}, "empty level"),
        (("x",), {"threads": "0"}, "at least 1"),
        (("x",), {"threads": "two"}, "at least 1"),
        (("x",), {"factor": ["alocator=system"]}, "did you mean allocator?"),
        (("x",), {"factor": ["allocator"]}, "NAME=A,B"),
        (("x",), {"factor": ["allocator=nosuch"]}, "nosuch"),
        (("x",), {"factor": ["sockets=64"]}, "sockets=64: this machine has"),
        (("x",), {"factor": ["layout=1x0x1"]}, "TxMxN"),
        (("x",), {"factor": ["bind=near"]}, "close:cores"),
        (("x",), {"factor": ["affinity=999"]}, "not all allowed"),
        (("x",), {"response": "speed"}, "response"),
        (("x",), {"metric": ["b=size"]}, "is not a source of a metric"),
        (("x",), {"subject_to": ["b<=1"]}, "no metric 'b'"),
        (("x",), {"subject_to": ["b<1"]}, "METRIC<=NUMBER"),
        (("x",), {"subject_to": ["b<=1MiB*baseline"]}, "METRIC<=10MiB"),
        (("x",), {"budget": "soon"}, "90s, 5m or 1h30m"),
        (("x",), {"within": "0"}, "2% or 0.02"),
        (("x",), {"baseline": "level=3"}, "no factor 'level'"),
        (("x",), {"factor": ["A=1", "A=2"]}, "given twice"),
        ((), {}, "no command"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(
    machine: Machine, words: tuple[str, ...], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(CorescaleError) as caught:
        tune(machine, *words, **options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "word", ['{"a":{"b":1}}', "BEGIN{for(i=0;i<9;i++){x+=i}}", "{{print $1}}", "{}", "a{", "}}", "{1}", "${#x}"]
)
def test_braces_around_no_name_are_as_typed(word: str) -> None:
    assert template.fill([word], {}) == (word,)


def test_braces_around_a_name_are_a_placeholder_or_written_twice() -> None:
    assert template.fill(['{"a":{n}}', "{{n}}", "x{n}y"], {"n": "7"}) == ('{"a":7}', "{n}", "x7y")
    assert template.placeholders(["{{n}}", "{m}"]) == {"m"}


@pytest.mark.parametrize(
    ("text", "bound", "relative"),
    [("bytes<=1.02*baseline", 1.02, True), ("error >= 3e-4", 3e-4, False), ("peak<=1.5 MiB", 1.5 * 2**20, False)],
)
def test_constraints(text: str, bound: float, relative: bool) -> None:
    parsed = Constraint.parse(text)
    assert (parsed.bound, parsed.relative) == (bound, relative)


@pytest.mark.parametrize(("text", "level"), [("3", 3), ("0.5", 0.5), ("007", "007"), ("1e3", "1e3"), ("fast", "fast")])
def test_levels_reach_argv_as_they_were_written(text: str, level: object) -> None:
    assert factors.number_or_text(text) == level
    assert str(factors.number_or_text(text)) == text


def blocks(count: int, seed: int = 3) -> tuple[plan.Invocation, ...]:
    grid = tuple(Configuration((("k", k),)) for k in range(count))
    return plan.invocations(plan.Block("measure", grid), 0, 0, grid[0], seed)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 40, 200])
def test_baseline_comes_at_least_every_8_launches(count: int) -> None:
    order = [invocation.configuration["k"] for invocation in blocks(count)]
    places = [-1, *(k for k, level in enumerate(order) if level == 0), len(order)]
    assert set(order) == set(range(count))
    assert max(b - a for a, b in itertools.pairwise(places)) <= plan.BASELINE_EVERY


def test_every_order_is_equally_likely() -> None:
    rng = random.Random(1)
    counts: dict[tuple[object, ...], int] = {}
    for _ in range(6000):
        order = tuple(i.configuration["k"] for i in blocks(3, rng.getrandbits(63)))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())  # 1000 +- 5 standard deviations


def test_the_hash_names_the_request(machine: Machine) -> None:
    assert scan(machine, "x", threads="1").hash == scan(machine, "x", threads="1").hash
    assert scan(machine, "x", threads="1").hash != scan(machine, "x", threads="1", warmup=1).hash


def test_an_inherited_preload_is_a_level_of_its_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "libsomething.so")
    levels, _ = factors.KINDS["allocator"].auto("allocator", machine)
    assert levels[:2] == ["inherited", "system"]
    assert os.environ["LD_PRELOAD"] == "libsomething.so"


@pytest.mark.parametrize("name", [name for name, kind in factors.KINDS.items() if kind.named])
def test_every_kind_that_is_named_is_in_the_guide(name: str) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "study.md").read_text()
    (row,) = re.findall(r"^\| `\[factors\]` \|.*$", guide, re.MULTILINE)
    assert f"`{name}`" in row


class Workers(factors.Kind):
    """A kind of this test, as somebody would add it: one class and one line in KINDS."""

    makes: ClassVar = frozenset({"ranks"})
    separator: ClassVar = ";"

    def layout(self, level: Level, layout: Layout) -> Layout:
        """The layout with this number of ranks."""
        return replace(layout, ranks_per_node=int(level))

    def serial(self, level: Level) -> Level:
        """One rank."""
        return 1


def test_a_kind_is_one_class_and_one_line(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(factors.KINDS, "workers", Workers())
    made = scan(machine, "start", "-n", "{workers}", threads="1,2", factor=["workers=1;3"], serial="./serial")
    grid = configurations(made)
    assert [c.layout.p for c in grid] == [2, 1, 3, 6, 1]
    assert launch(made, grid[3], machine).argv == ("start", "-n", "3")
    assert [naming.counted(c) for c in grid[2:4]] == ["threads=1 workers=3", "threads=2 workers=3"]
    assert naming.counted(Configuration((("workers", 3),), Layout(1, 3))) == "3 ranks"
    assert made.makes_p == {"threads", "workers"} and made.beside_p(grid[0]) == ()
    assert dict(grid[-1].levels) == {"command": "serial", "threads": 1, "workers": 1}
    alone = scan(machine, "x", factor=["layout=2x1x1"])
    assert [factor.name for factor in alone.factors] == ["layout"], "a factor that makes threads leaves none to add"
    path = tmp_path / "study.toml"
    path.write_text('title = "t"\ncommand = "start -n {workers}"\n[factors]\nworkers = [1]\n')
    assert study_file.experiment(path, machine, levels=["workers=2;4"]).factors[0].levels == (2, 4)


@pytest.mark.parametrize("text", ["cat a | wc -l", "sort f > g", "it's"])
def test_a_quoted_command_that_only_a_shell_understands_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"no shell is used|no closing quotation"):
        command_line.compare(CompareRequest(), [text, "true"], Machine.here())
    assert command_line.compare(CompareRequest(shell=True), ["cat a | wc -l", "true"], Machine.here())
    quoted = command_line.compare(
        CompareRequest(), ["sh -c 'cat a | wc -l'", "awk '{{print $1 > 2}}' f"], Machine.here()
    )
    assert quoted.commands[0].argv == ("sh", "-c", "cat a | wc -l")


IN_WORDS = [
    """'"$x"'""",
    r'"\$x \` \" \\ \n"',
    r"\$x\ y",
    '"a\\\nb" c\\\nd',
    "a#b '#' \\# =~ [ ]",
    '\'\' "" a""\'$\'b"~"',
]


@pytest.mark.parametrize("text", IN_WORDS)
def test_words_are_those_of_a_shell(text: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf '%s\\0' {text}"], stdout=subprocess.PIPE, text=True, check=True)
    assert template.split(text, "command") == tuple(done.stdout.split("\0")[:-1])


@pytest.mark.parametrize("text", ['"$x"', '"a`b`"', '"${x:-1}"', '"$(b)"', "$?", '"$$"', "f?", "f[12]", "a #b", "~"])
def test_what_a_shell_would_replace_is_refused_wherever_words_are_split(text: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f"title = 't'\ncommand = 'echo {text}'\n")
    here = Machine.here()
    for made in (
        lambda: command_line.compare(CompareRequest(), [f"echo {text}"], here),
        lambda: command_line.tune(TuneRequest(rehearse=text), ["echo", "x"], here),
        lambda: study_file.experiment(file, here),
        lambda: HookRunner(command_line.compare(CompareRequest(prepare=f"echo {text}"), ["true"], here)),
    ):
        with pytest.raises(UsageError, match="is for a shell"):
            made()


def test_a_quoted_command_that_is_for_no_shell_is_text(machine: Machine) -> None:
    plain = command_line.compare(CompareRequest(no_shell=True), ["echo 'a b' $HOME", "cat a|wc"], machine)
    assert [command.argv for command in plain.commands] == [("echo", "a b", "$HOME"), ("cat", "a|wc")]


@pytest.mark.parametrize(
    ("scan", "step", "levels"),
    [
        ("1:2", "0.5", "1,1.5,2"),
        ("0.10:0.3", "0.1", "0.10,0.20,0.30"),
        ("10:30", "10", "10,20,30"),
        ("0:1", "0.25", "0,0.25,0.5,0.75,1"),
    ],
)
def test_levels_of_a_range_are_written_as_its_first_is(scan: str, step: str, levels: str) -> None:
    """A program that takes whole numbers takes no 1.0."""
    assert named_factors._scanned(f"n={scan}", step, ["n"]) == ("n", levels)
