# SPDX-License-Identifier: Apache-2.0
"""Every output of every study that ships, from generated launches; and the commands that a study's first lines name."""

import itertools
import re
import shlex
import shutil
from collections.abc import Sequence

import pytest

from corescale import native
from corescale.conclude.answers.study import study
from corescale.conclude.frame import frame
from corescale.declare import studies, study_file
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.outputs import Chart
from corescale.errors import UnavailableError
from corescale.machine import Machine
from corescale.records import Configuration, Record
from corescale.show import charts
from corescale.show.charts.of_answers import of_answers
from support.samples import records

MACHINE = Machine.here()


def generated(experiment: Experiment) -> Sequence[Record]:
    """Six blocks in which p divides the time; every metric is 1 but that of the response."""
    kind, _, name = experiment.response.partition(":")

    def seconds(c: Configuration) -> float:
        return 0.1 + 1 / c.layout.p

    def change(c: Configuration, block: int) -> dict[str, object]:
        metrics = dict.fromkeys(experiment.metrics, 1.0) | ({name: seconds(c)} if kind == "metric" else {})
        return {"metrics": metrics, "oversubscribed": c.layout.of_node > MACHINE.default_max_threads}

    return records(experiment, seconds, 6, change=change)


@pytest.mark.parametrize("name", studies.shipped())
def test_every_output_comes_of_launches(name: str) -> None:
    experiment = study_file.experiment(studies.find(name), MACHINE)
    if len(configurations(experiment)) > 400:
        pytest.skip("more configurations than a test should generate")
    made = generated(experiment)
    rows = frame(made, experiment)
    drawn = {chart.name for chart in charts.of_declared(rows, experiment)}
    declared = {one.name for one in experiment.study.outputs if isinstance(one, Chart) and not one.each}
    if experiment.response.partition(":")[0] != "region" and name.startswith("threads_and_mpi"):
        without = {"share_of_d", "share_streamed"}  # where nothing is calibrated
        assert declared - without <= drawn
    said = study(made, experiment).answers
    assert said or not any(not isinstance(one, Chart) for one in experiment.study.outputs)
    statements = {one.finding.name for one in said}
    assert {chart.name for chart in of_answers(said)} <= statements - drawn


def built(program: str) -> bool:
    try:
        return native.find(program).is_file()
    except UnavailableError:
        return False


@pytest.mark.parametrize("name", studies.shipped())
def test_a_program_that_was_built_for_a_study_is_found(name: str) -> None:
    for command in study_file.experiment(studies.find(name), MACHINE).commands:
        program = command.argv[0]
        assert "/" in program or shutil.which(program) or not built(program), program


HEADERS = [
    (name, line.split("#", 1)[1].strip())
    for name, path in studies.shipped().items()
    for line in path.read_text().splitlines()
    if line.startswith("#   corescale study run")
]


@pytest.mark.parametrize(("name", "line"), HEADERS)
def test_a_command_that_a_study_names_is_accepted(name: str, line: str) -> None:
    words = shlex.split(re.split(r"\s{2,}", line.rpartition("&&")[2].strip())[0])
    levels = [value for option, value in itertools.pairwise(words) if option == "--levels"]
    assert words[3] == name
    assert configurations(study_file.experiment(studies.find(name), MACHINE, levels=levels))
