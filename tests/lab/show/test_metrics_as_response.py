# SPDX-License-Identifier: Apache-2.0
"""A response that is no time has no unit of time, and the first line says which direction is better."""

import dataclasses
import io
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from corescale.api.results import concluded
from corescale.cli.output import exit_code
from corescale.conclude import policy
from corescale.conclude.forecast import predict
from corescale.conclude.race.race import Race
from corescale.conclude.stats import Interval
from corescale.declare import command_line, quantities
from corescale.declare.experiment import Experiment
from corescale.declare.request import CompareRequest, ScanRequest, TuneRequest
from corescale.errors import ExitCode, UsageError
from corescale.records import Record
from corescale.show import columns, html, interim, terminal
from corescale.show.exchange import markdown
from corescale.show.headline import headline
from corescale.show.result import Result
from corescale.show.statements import forecast as line
from support.play import MACHINE, Truth, play

SCORE = {"response": "metric:score", "metric": ["score=output:score"]}
ONE: dict[str, object] = {"runs": 8, **SCORE}


def printed(shown: Result) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(terminal.render(shown, model=True))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def told(experiment: Experiment, truth: Truth, factor: float = 1.0) -> Result:
    """A run in which the metric is the time times `factor`."""
    made = play(experiment, truth, policy.Uniform(experiment))
    return result([dataclasses.replace(r, metrics={"score": factor * r.wall}) for r in made], experiment)


def result(made: Sequence[Record], experiment: Experiment) -> Result:
    return concluded([dataclasses.replace(r, origin="measured") for r in made], experiment, {}, {})


def scanning(**options: object) -> Experiment:
    request = ScanRequest(threads="1,2,4", **(ONE | options))  # type: ignore[arg-type]
    return command_line.scan(request, ["x"], MACHINE)


def comparing(*commands: str, **options: object) -> Experiment:
    return command_line.compare(CompareRequest(**(ONE | options)), commands, MACHINE)  # type: ignore[arg-type]


def test_a_command_alone() -> None:
    shown = told(comparing("x"), lambda _: 0.04, 1000)
    assert headline(shown).startswith("x: 40")
    assert " ms" not in headline(shown)
    assert re.match(r"median 40[.]?\d*; user ", printed(shown).splitlines()[1])


def test_two_commands_say_that_less_is_better() -> None:
    shown = told(comparing("a", "b"), lambda c: 2.0 if c["command"] == "b" else 1.0)
    assert re.match(r"b has [12][.]\d+x the score of a .*\] [(]less score is better[)]$", headline(shown))
    assert len(headline(shown).split()) <= 25


@pytest.mark.parametrize(("name", "unit"), [("peak-memory", "MiB"), ("cpu-time", "s")])
def test_a_metric_whose_unit_is_known_has_it_and_a_ratio(name: str, unit: str) -> None:
    experiment = scanning(response=f"metric:{name}", metric=[f"{name}={name}"])
    size = 2.0**20 if name == "peak-memory" else 1.0
    made = [
        dataclasses.replace(r, metrics={name: size * r.wall})
        for r in play(experiment, lambda c: 1.02, policy.Uniform(experiment))
    ]
    said = printed(result(made, experiment))
    assert re.search(rf"1[.]\d* {unit} ", said) and f"{name}(reference) / {name}" in said, said


def test_ratios_name_the_metric() -> None:
    shown = told(comparing("a", "b"), lambda c: 2.0 if c["command"] == "b" else 1.0)
    assert "  score / score(reference)  " in printed(shown)
    assert shown.ratios[0] == "score / score(reference)"


def test_a_number_is_whole_however_narrow_the_terminal() -> None:
    shown = told(comparing("a", "b"), lambda c: 2.0 if c["command"] == "b" else 1.0, 12345678)
    for width in (24, 30, 40, 60):
        console = Console(file=io.StringIO(), width=width)
        console.print(terminal.render(shown))
        text = str(console.file.getvalue())  # type: ignore[attr-defined]
        numbers = re.findall(r"\b\d{8}\b", printed(shown))
        assert numbers and all(number in text for number in numbers), text
        assert max(map(len, text.splitlines())) <= width


def test_no_output_calls_a_metric_fast_or_slow() -> None:
    compared = told(comparing("a", "b"), lambda c: 3.0 if c["command"] == "b" else 1.0)
    scanned = told(scanning(), lambda c: 1.0 * c.layout.p, 10)
    few = told(scanning(runs=2), lambda c: 1.0 * c.layout.p, 10)
    assert "nothing is lower in score than 1 thread" in headline(scanned)
    assert re.search(r"\d threads look like \d[.]\d+x the score of 1, but there is no 95% interval", headline(few))
    for shown in (compared, scanned, few):
        assert not re.search("fast|slow", printed(shown)), printed(shown)
        assert not re.search("fast|slow", markdown.export(shown))
    assert isinstance(compared.conclusion, tuple)
    cells = columns.of(compared).cells(compared.conclusion[0].other)
    assert [cell for column, cell in cells if column.name == "decision"] == [("higher", "")]


@pytest.mark.parametrize(
    ("response", "said"),
    [("wall", "1.25x [1.00, 1.56] slower than"), ("metric:m", "1.25x [1.00, 1.56] the m of")],
)
def test_the_words_of_a_ratio_follow_from_the_response(response: str, said: str) -> None:
    gain = Interval(0.8, 0.64, 1.0, 0.95, 8)
    assert interim.versus(gain, response) == said


def test_a_gate_names_the_response_that_it_judges() -> None:
    experiment = comparing("a", "b")
    made = play(experiment, lambda c: 3.0 if c["command"] == "b" else 1.0, policy.Uniform(experiment))
    scored = [dataclasses.replace(r, metrics={"score": 1e9}, origin="measured") for r in made]
    gates = quantities.gates(["10%", "mean=10%"], "metric:score")
    shown = concluded(scored, experiment, {}, {}, gates)  # type: ignore[arg-type]
    first, second, *_ = printed(shown).splitlines()
    assert first.startswith("gate passed: b: score 1.00")
    assert second.startswith("gate passed: b: mean score 1.00")
    with pytest.raises(UsageError, match="'time=10%' is a gate on the time, but metric:score is compared; write 10%"):
        quantities.gates(["time=10%"], "metric:score")


@pytest.mark.usefixtures("undrawn")
def test_a_scan_with_its_model_its_page_and_its_forecast() -> None:
    shown = told(scanning(), lambda c: 0.2 + 0.8 / c.layout.p, 10)
    assert headline(shown).endswith("(less score is better)")
    model = [one for one in printed(shown).splitlines() if one.strip().startswith(("T1 =", "forecast"))]
    assert len(model) == 2
    page = html.report(shown)
    for said in (*model, *(part for part in page.splitlines() if "T1 = " in part)):
        assert " ms" not in said and " s [" not in said
    (forecast,) = predict(shown.records, shown.experiment, 8)
    said = "; ".join(line(forecast, shown.experiment))
    assert " ms" not in said and " s [" not in said
    timed = shown.experiment.model_copy(update={"response": "wall"})
    assert re.search(r"\d (m?s)\b", "; ".join(line(forecast, timed)))


def test_a_tune_says_that_less_is_better() -> None:
    timed = command_line.tune(TuneRequest(threads="1,2", budget="none"), ["x"], MACHINE)
    made = play(timed, lambda c: c.layout.p, Race(timed))
    scored = timed.model_copy(update={"response": "metric:score", "metrics": {"score": "output:score"}})
    shown = result([dataclasses.replace(r, metrics={"score": r.wall}) for r in made], scored)
    said = r"0[.]\d+x the score of your current launch \[[0-9., ]+\](,| at| by a t) .*[(]less score is better[)]$"
    assert re.match(said, headline(shown))


@pytest.mark.parametrize("verb", ["scan", "compare"])
@pytest.mark.parametrize(("factor", "said"), [(None, "no launch gave metric:score"), (0.0, "metric:score above 0")])
def test_launches_that_give_no_response_did_succeed(verb: str, factor: float | None, said: str) -> None:
    experiment = scanning() if verb == "scan" else comparing("a", "b")
    made = play(experiment, lambda _: 1.0, policy.Uniform(experiment))
    given = [dataclasses.replace(r, metrics={} if factor is None else {"score": factor}) for r in made]
    shown = result(given, experiment)
    wanted = said if verb == "scan" else "no verdict on b against a: in no block did both give metric:score above 0"
    assert wanted in headline(shown)
    assert exit_code(shown.conclusion) is ExitCode.INCONCLUSIVE
    assert "narrow the interval" not in printed(shown)


def test_one_command_may_give_0_and_not_nothing() -> None:
    shown = told(comparing("a"), lambda _: 1.0, 0.0)
    assert headline(shown).startswith("a: 0 ± 0 ")
    assert exit_code(shown.conclusion) is ExitCode.OK
    bare = result([dataclasses.replace(r, metrics={}) for r in shown.records], shown.experiment)
    assert headline(bare) == "no launch gave metric:score"
    assert exit_code(bare.conclusion) is ExitCode.INCONCLUSIVE


def test_equal_launches_leave_no_blank_where_an_interval_was() -> None:
    experiment = comparing("a", "b")
    made = play(experiment, lambda _: 1.0, policy.Uniform(experiment))
    given = [dataclasses.replace(r, metrics={"score": 1e9 * (1 + (r.configuration["command"] == "b"))}) for r in made]
    assert headline(result(given, experiment)) == "b has 2.00x the score of a (less score is better)"


def test_a_direction_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match=r"'metric:score:max' .*; let the program print its inverse"):
        scanning(response="metric:score:max")


def test_a_count_is_exact_and_a_number_that_may_be_rounded_is_not() -> None:
    """5 and 6 may be 5.49 and 5.5, unless they are counts; one launch of neither is high."""
    found = {}
    for source in ("output", "count"):
        experiment = comparing("a", "b", metric=[f"score={source}:score"])
        made = play(experiment, lambda c: 6.0 if c["command"] == "b" else 5.0, policy.Uniform(experiment), noise=0)
        found[source] = result([dataclasses.replace(r, metrics={"score": r.wall}) for r in made], experiment)
    assert headline(found["count"]).startswith("b has 1.20x the score of a (less")
    assert headline(found["output"]).startswith("no difference shown: b takes 1.20x [1.00, 1.44]")
    assert not any("which high" in printed(shown) for shown in found.values())
    steps = [line for shown in found.values() for line in shown.warnings if "quantised" in line]
    assert len(steps) == 1 and steps[0].endswith("; if it is an exact count: --metric score=count:score")
