# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one test for each line that is refused)
"""Study files: what they declare, and one clear line for each thing that can be wrong with one."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import get_args

import jsonschema
import pytest

from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.factors import KINDS
from corescale.declare.grid import configurations, launch
from corescale.declare.outputs import CHART_COLUMNS, Chart, ChartKind, Finding, Overheads, Table
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.topology import Cpu

MACHINE = Machine.here()
STUDY = """\
title = "Sleeping"
command = "sleep 0.0{length}"

[factors]
threads = [1, 2]
load = [1, 4]
allocator = ["system", "hoard"]

[derived]
work = "threads * load"
length = "isqrt(work * 100)"

[columns]
rate = "work / time"

[stop]
rule = "replicates"
replicates = 6

[[table]]
name = "launches"
columns = { Threads = "threads", Rate = "rate", Again = "threads" }

[[chart]]
name = "times"
kind = "bars"
title = "Times"
x = "threads"
y = "rate"
normalise = { to = { threads = 1 }, within = ["load"], inverse = true }

[[chart]]
name = "again"
kind = "lines"
title = "Again"
x = "work"

[[finding]]
name = "scales"
statement = "two threads take as long"
a = { threads = 2 }
b = { threads = 1 }
where = { load = ["min", "max"] }
each = ["load"]
claim = "0.9 to 1.1"
"""


def written(folder: Path, text: str = STUDY) -> Path:
    path = folder / "sleeping.toml"
    path.write_text(text)
    return path


def test_a_file_becomes_an_experiment(tmp_path: Path) -> None:
    made = study_file.experiment(written(tmp_path), MACHINE)
    assert (made.verb, made.study.name, made.study.title) == ("study", "sleeping", "Sleeping")
    assert [(f.name, f.kind) for f in made.factors] == [
        ("threads", "threads"), ("load", "parameter"), ("allocator", "allocator")
    ]  # fmt: skip
    assert {launch(made, c, MACHINE).argv[1] for c in configurations(made)} == {"0.010", "0.014", "0.020", "0.028"}
    assert (made.stop.min_blocks, made.stop.max_blocks, made.stop.budget) == (6, 6, None)
    assert [type(output) for output in made.study.outputs] == [Table, Chart, Chart, Finding]
    table = made.study.outputs[0]
    assert isinstance(table, Table) and table.columns == (
        ("Threads", "threads"),
        ("Rate", "rate"),
        ("Again", "threads"),
    )
    assert Experiment.model_validate_json(json.dumps(made.model_dump(mode="json"), sort_keys=True)) == made


def test_the_most_blocks_are_what_the_file_says(tmp_path: Path) -> None:
    text = STUDY.replace('rule = "replicates"\nreplicates = 6', 'rule = "width"\n{}')
    made = study_file.experiment(written(tmp_path, text.replace("{}", "max_blocks = 5")), MACHINE)
    assert (made.stop.min_blocks, made.stop.max_blocks) == (5, 5)
    with pytest.raises(UsageError, match="min_blocks may not exceed max_blocks"):
        study_file.experiment(written(tmp_path, text.replace("{}", "min_blocks = 50\nmax_blocks = 20")), MACHINE)


def test_what_is_not_here_is_left_out_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corescale.declare.catalogue.allocators.find_library", lambda patterns: None)
    made = study_file.experiment(written(tmp_path), MACHINE)
    allocator = made.factor("allocator")
    assert allocator and allocator.levels == ("system",)
    assert len(made.left_out) == 1 and "hoard was not found here" in made.left_out[0]


def test_levels_and_command_are_replaced(tmp_path: Path) -> None:
    path = written(tmp_path)
    made = study_file.experiment(path, MACHINE, ["threads=1", "load=2,8,32"], runs=9)
    assert [factor.levels for factor in made.factors[:2]] == [(1,), (2, 8, 32)] and made.stop.min_blocks == 9
    other = study_file.experiment(path, MACHINE, command="echo {threads} {load}")
    assert launch(other, configurations(other)[-1], MACHINE).argv == ("echo", "2", "4")
    none = study_file.experiment(path, MACHINE, command="echo {threads}")
    factor = none.factor("load")
    assert factor and factor.levels == (1,) and any("levels of load but 1" in line for line in none.left_out)


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        (["loads=1"], "--levels: the study has no factor 'loads'; did you mean load?"),
        (["load="], "not FACTOR=A,B"),
        (["load"], "not FACTOR=A,B"),
        (["threads=many"], "whole number"),
    ],
)
def test_levels_that_make_no_sense(levels: list[str], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        study_file.experiment(written(tmp_path), MACHINE, levels)
    assert says in str(error.value)


WRONG = [
    ('title = "Sleeping"', 'tilte = "Sleeping"', 1, "tilte: unknown key 'tilte'; did you mean title?"),
    ("replicates = 6", "replicats = 6", 18, "stop.replicats: unknown key 'replicats'; did you mean replicates?"),
    ('rule = "replicates"', 'rule = "replicate"', 17, "did you mean 'replicates'?"),
    ("replicates = 6", "replicates = 0", 18, "greater than or equal to 1"),
    ("replicates = 6\n", "", 16, "go together"),
    ('title = "Sleeping"', 'title = ""\nsamples = "laod"', 2, "samples: no factor 'laod'; did you mean 'load'?"),
    ("{length}", "{lenght}", 2, "unknown placeholder {lenght}; did you mean {length}?"),
    ('work = "threads * load"', 'work = "thread * load"', 10, "derived.work: unknown name 'thread'"),
    ('"threads * load"', '"length"', 9, "a cycle"),
    ('"threads * load"', '"threads / (load - 1)"', 10, "divides by zero at load = 1"),
    ('"threads * load"', '"threads ** load"', 10, "more than arithmetic"),
    ('"threads * load"', '"sqrt(0 - load)"', 10, "no value"),
    ('rate = "work / time"', 'rate = "work / tme"', 14, "unknown name 'tme' in 'work / tme'; did you mean time?"),
    ('rate = "work / time"', 'time = "work / p"', 14, "this name already"),
    ('y = "rate"', 'y = "rat"', 25, "chart times: no column 'rat'; did you mean 'rate'?"),
    ('x = "work"', 'x = "wrk"', 33, "chart again: no column 'wrk'; did you mean 'work'?"),
    ('Again = "threads"', 'Again = "thread"', 21, "table launches: no column 'thread'"),
    ('kind = "lines"', 'kind = "line"', 34, "chart.kind"),
    ('kind = "lines"', 'kind = "heat"', 33, "chart again: y is missing; write y = ..."),
    ("[[table]]", "[table]", 20, "table: should be a list, in [ ], not a table; write [[table]]"),
    ("{ threads = 2 }", "{ threads = 3 }", 39, "no level of threads '3'"),
    ('"0.9 to 1.1"', '"about 1"', 45, "finding.claim: not a claim"),
    ("load = [1, 4]", "lod = [1, 4]", 10, "unknown name 'load'"),
    ("load = [1, 4]", "load = []", 6, "at least one"),
    ("load = [1, 4]", "load = [true]", 6, "numbers or strings"),
    ("load = [1, 4]", "load = [1, 4]\nspare = [1]", 7, "unknown factor 'spare'"),
    ("load = [1, 4]", 'load = [1, 4]\nspare = { levels = [1], kind = "parameter" }', 7, "reaches no program"),
    ("load = [1, 4]", 'load = { levels = [1], kind = "paramter" }', 6, "did you mean 'parameter'?"),
    ('"hoard"]', '"mimaloc"]', 7, "did you mean mimalloc?"),
    ('command = "sleep 0.0{length}"', "", 1, "no command; write command = ..."),
    ('command = "sleep 0.0{length}"', 'command = "sleep \'"', 2, "no closing quotation"),
    ('command = "sleep 0.0{length}"', 'command = ""', 2, "command: is empty; name a program"),
    ('command = "sleep 0.0{length}"', 'command = " "\nshell = true', 2, "command: is empty; name a program"),
    ("[factors]", 'serial = ""\n[factors]', 4, "serial: is empty; name a program"),
    ("[stop]", "[weak]\n[stop]", 16, ""),
    ("[stop]", '[weak]\nwork = "length"\n[stop]', 16, "not constant"),
    ("[stop]", "[stop", 16, "not TOML"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "says"), WRONG)
def test_each_mistake_is_one_line_with_its_place(right: str, wrong: str, line: int, says: str, tmp_path: Path) -> None:
    assert right in STUDY
    path = written(tmp_path, STUDY.replace(right, wrong, 1))
    if not says:
        study_file.experiment(path, MACHINE)
        return
    with pytest.raises(UsageError) as error:
        study_file.experiment(path, MACHINE)
    said = str(error.value)
    assert says in said and "\n" not in said and error.value.exit_code == 2
    found = re.search(r"sleeping\.toml:(\d+): ", said)
    assert found, said
    assert int(found[1]) == line, said


@pytest.mark.parametrize("kind", get_args(ChartKind))
def test_a_chart_names_every_column_that_its_kind_has_no_default_for(kind: ChartKind, tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace('kind = "lines"', f'kind = "{kind}"').replace('x = "work"\n', ""))
    needed = [key for key, name in CHART_COLUMNS[kind].items() if not name]
    if not needed:
        study_file.experiment(path, MACHINE)
        return
    with pytest.raises(UsageError, match=rf"sleeping\.toml:33: chart again: {needed[0]} is missing; write"):
        study_file.experiment(path, MACHINE)


def test_a_parameter_goes_along_with_its_factor(tmp_path: Path) -> None:
    text = STUDY.replace("load = [1, 4]", "load = { levels = [1, 4], along = { steps = [90, 20] } }")
    path = written(tmp_path, text.replace("sleep 0.0{length}", "echo {load}:{steps}"))
    made = study_file.experiment(path, MACHINE)
    assert {launch(made, c, MACHINE).argv[1] for c in configurations(made)} == {"1:90", "4:20"}
    cut = study_file.experiment(path, MACHINE, ["load=4"])
    assert {launch(cut, c, MACHINE).argv[1] for c in configurations(cut)} == {"4:20"}
    with pytest.raises(UsageError, match=r"--levels: no steps for load '2'; here are 1, 4"):
        study_file.experiment(path, MACHINE, ["load=2,4"])
    path.write_text(text.replace("[90, 20]", "[90]"))
    with pytest.raises(UsageError, match="steps needs one value for each level"):
        study_file.read(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00", b"[" * 3000, b"a = 1\n" * 2])
def test_a_file_that_is_no_study_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.toml"):
        study_file.read(path)


def test_every_kind_of_factor_can_be_declared(tmp_path: Path) -> None:
    levels: dict[str, object] = {
        "layout": ["1x1x1"], "allocator": ["system"], "openmp": ["inherited"], "bind": ["none"], "affinity": ["0"],
        "numa": ["local"], "smt": ["on"], "variable": ["a"], "parameter": [0.5, "x y"],
    }  # fmt: skip
    for kind, given in ((kind, levels.get(kind, [1])) for kind in KINDS if kind != "command"):
        name = {"variable": "A_VARIABLE", "parameter": "size"}.get(kind, kind)
        lines = [
            'title = "x"', 'commands = { a = "echo {size}", b = "true {size}" }', "[factors]", "size = [1]",
            f"{name} = {{ levels = {json.dumps(given)}, kind = {json.dumps(kind)} }}",
        ]  # fmt: skip
        if name == "size":
            lines.remove("size = [1]")
        made = study_file.experiment(written(tmp_path, "\n".join(lines)), MACHINE)
        factor = made.factor(name)
        assert factor and factor.kind == kind and made.factor("command")


def test_the_schema_describes_what_ships() -> None:
    schema = json.loads(study_file.schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in studies.shipped().values():
        validator.validate(tomllib.loads(path.read_text()))
    validator.validate(tomllib.loads(STUDY))
    assert list(validator.iter_errors({"title": 1})) and list(validator.iter_errors({"title": "", "tilte": ""}))


def test_the_guide_declares_a_study_that_is_in_order(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "study.md").read_text()
    parts = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    made = study_file.experiment(written(tmp_path, "\n".join(parts)), MACHINE)
    assert len(parts) == 5 and [type(output) for output in made.study.outputs] == [Table, Chart, Finding, Overheads]
    keys = set(study_file.StudyFile.model_fields) - {"chart", "table", "finding", "overheads"}
    assert all(f"`{key}`" in guide or f"`[{key}]`" in guide for key in keys), "a key is not in the guide"


@pytest.mark.parametrize("name", studies.shipped())
def test_every_study_that_ships_is_in_order(name: str) -> None:
    assert configurations(study_file.experiment(studies.find(name), MACHINE))


def test_a_study_that_does_not_exist_has_a_near_one() -> None:
    with pytest.raises(UsageError, match="did you mean demo"):
        studies.find("dmo")


def test_combinations_are_omitted_by_the_cores_that_they_have(tmp_path: Path) -> None:
    """A machine of two sockets, whose cores have two hardware threads each: every mix fills what it may use."""
    text = """
title = "t"
command = "x"
omit = [{ p = "< cores" }, { sockets = "below max", p = "> cores" }, { sockets = "max", p = "> 2 cores" }]
[factors]
threads = "auto"
ranks = "auto"
sockets = "auto"
smt = "auto"
"""
    (tmp_path / "s.toml").write_text(text)
    cpus = tuple(Cpu(cpu=k, core=k % 12, socket=k % 12 // 6, numa_node=0, l3_domain=k % 12 // 6) for k in range(24))
    machine = dataclasses.replace(MACHINE, cpus=cpus, affinity=tuple(range(24)), quota_cores=None)
    made = study_file.experiment(tmp_path / "s.toml", machine)
    cores = {(2, "on"): 24, (2, "off"): 12, (1, "on"): 12, (1, "off"): 6}
    found = [((int(c["sockets"]), str(c["smt"])), c.layout) for c in configurations(made)]
    assert {at for at, _ in found} == set(cores)
    for (sockets, smt), layout in found:
        fewest, most = cores[sockets, smt], cores[sockets, smt] * sockets
        assert fewest <= layout.p <= most
    filled = {(layout.ranks_per_node, layout.threads_per_rank) for at, layout in found if layout.p == cores[at]}
    assert {(8, 3), (3, 8), (1, 24), (24, 1), (2, 3), (12, 1)} <= filled
    (tmp_path / "s.toml").write_text(text.replace("< cores", "= cores"))
    with pytest.raises(UsageError, match='not a condition on p: \'= cores\'; write "< cores" or "> 2 cores"'):
        study_file.experiment(tmp_path / "s.toml", machine)


def test_combinations_that_make_no_sense_are_omitted(tmp_path: Path) -> None:
    text = """
title = "t"
command = "x {threads} {threading} {size}"
omit = [{ threading = "none", threads = "above min" }, { size = [1, 2], threads = 2 }]
[factors]
threads = [1, 2]
threading = ["spin", "none"]
size = [3, 1, 2]
"""
    (tmp_path / "s.toml").write_text(text)
    made = study_file.experiment(tmp_path / "s.toml", MACHINE)
    found = {(c["threads"], c["threading"], c["size"]) for c in configurations(made)}
    every = {(t, s, n) for t in (1, 2) for s in ("spin", "none") for n in (1, 2, 3)}
    assert found == {one for one in every if one[0] == 1 or (one[1] == "spin" and one[2] == 3)}


def test_times_are_written_as_on_the_command_line_and_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "times.toml"
    path.write_text('\ufefftitle = "t"\ncommand = "x {n}"\ntimeout = "1m30s"\n[factors]\nn = [1, 2]\n'
                    '[stop]\nbudget = "1h30m"\n', encoding="utf-8")  # fmt: skip
    made = study_file.experiment(path, MACHINE)
    assert (made.timeout, made.stop.budget) == (90.0, 5400.0)


@pytest.mark.parametrize(
    ("levels", "command", "where"),
    [
        (["threads=0"], "", "--levels"),
        (["threads="], "", "--levels"),
        ([], "'x", "--command"),
        ([], "a | b", "--command"),
    ],
)
def test_what_was_typed_is_no_fault_of_the_file(levels: list[str], command: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        study_file.experiment(path, MACHINE, levels, command)
    assert refused.value.where == where
