# SPDX-License-Identifier: Apache-2.0
"""Exports for continuous integration: Bencher's metrics, the array of github-action-benchmark, and JUnit XML."""

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison, Gate
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.stats import Interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import reference
from corescale.endings import ending
from corescale.errors import CorescaleError, InconclusiveError
from corescale.records import Configuration
from corescale.show import columns, headline, statements, text
from corescale.show.naming import label
from corescale.show.result import Result

NANOSECONDS = 1e9
"""nanoseconds per second; Bencher's own measure `latency` is in nanoseconds"""


def bencher(result: Result) -> str:
    """Bencher Metric Format: benchmark -> measure -> value with its interval's ends; a time is `latency`, in ns."""
    response = result.experiment.response
    measure, unit = ("latency", NANOSECONDS) if text.is_time(response) else (response.partition(":")[2], 1.0)
    found = {_name(result, chosen): {measure: _metric(value, unit)} for chosen, value in _values(result)}
    if not isinstance(result.conclusion, Recommendation):  # the ratios of a tune flatter the fastest
        named = "relative-time" if isinstance(result.conclusion, tuple) else "speedup"
        for configuration, ratio in result.ratios[1].items():
            if math.isfinite(ratio.estimate) and ratio.estimate > 0:
                found[_name(result, configuration)][named] = _metric(ratio)
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def _name(result: Result, configuration: Configuration) -> str:
    return result.named(label(configuration), configuration)


def _metric(value: Interval, unit: float = 1.0) -> dict[str, float]:
    ends = {"value": value.estimate, "lower_value": value.low, "upper_value": value.high}
    scaled = {name: unit * number for name, number in ends.items() if number is not None}
    return {name: number for name, number in scaled.items() if math.isfinite(number)}


def github(result: Result) -> str:
    """The array of github-action-benchmark's tool `customSmallerIsBetter`."""
    unit = "s" if text.is_time(result.experiment.response) else result.experiment.response.partition(":")[2]
    found = [
        {
            "name": _name(result, configuration),
            "unit": unit,
            "value": value.estimate,
            **({} if value.low is None else {"range": f"{value.low:.6g} to {value.high:.6g}"}),
            "extra": text.clean(result.line(configuration)),
        }
        for configuration, value in _values(result)
    ]
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def _values(result: Result) -> Iterator[tuple[Configuration, Interval]]:
    """The response of each configuration that reported it."""
    table = columns.of(result)
    for configuration, row in table.rows.items():
        value = table.columns[0].value(row, result)
        if isinstance(value, Interval) and math.isfinite(value.estimate):
            yield configuration, value


def junit(result: Result) -> str:
    """A test case for each finding of a study, else for each configuration, with the first line and the warnings.

    A failed gate is a failure, and so is a finding that does not hold. A test case without
    a successful launch is an error. One that the launches cannot decide is skipped.
    """
    cases = _findings(result, result.conclusion) if isinstance(result.conclusion, Study) else _configurations(result)
    return _suite(result.experiment, [*cases], (headline.headline(result), *result.warnings))


def junit_of_error(experiment: Experiment, error: CorescaleError) -> str:
    """The test case of the reference, for a run that gave no result."""
    kind = "skipped" if isinstance(error, InconclusiveError) else "error"
    return _suite(experiment, [(label(reference(experiment)), math.nan, kind, str(error))], [str(error)])


def _suite(experiment: Experiment, cases: Sequence["Case"], lines: Iterable[str]) -> str:
    counts = {
        total: str(sum(kind == one for _, _, one, _ in cases))
        for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    name = f"corescale {experiment.verb}"
    suite = ET.Element("testsuite", {"name": name, "tests": str(len(cases)), **counts})
    for case, seconds, kind, why in cases:
        times = {"time": f"{seconds:.9g}"} if math.isfinite(seconds) else {}
        one = ET.SubElement(suite, "testcase", {"classname": name, "name": text.clean(case), **times})
        if kind:
            ET.SubElement(one, kind, {"message": text.clean(why)})
    said = ET.SubElement(suite, "system-out")
    said.text = "\n".join(map(text.clean, lines))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


Case = tuple[str, float, str, str]
"""Name, seconds, the XML element for its outcome (empty if it passed), and the reason."""

ENDS = {"holds": "", "does not hold": "failure"}
"""outcomes of a finding's case; with any other verdict, it is skipped"""


GATES: Mapping[Gate, str] = {"failed": "failure", "crashed": "error"}
"""outcomes of a gate's case, if the gate did not pass; an undecided one is skipped"""


def _findings(result: Result, found: Study) -> Iterator[Case]:
    for answer in found.answers:
        case = " ".join(filter(None, (answer.finding.name, statements.levels(answer.at))))
        kind, why = ENDS.get(answer.verdict, "skipped"), statements.answer(answer)
        yield case, math.nan, *(("skipped", headline.headline(result)) if result.changed else (kind, why))


def _configurations(result: Result) -> Iterator[Case]:
    times = dict(_values(result)) if text.is_time(result.experiment.response) else {}
    gates = {one.other: one for one in result.conclusion} if isinstance(result.conclusion, tuple) else {}
    for configuration in columns.of(result).rows:
        seconds = times[configuration].estimate if configuration in times else math.nan
        yield _name(result, configuration), seconds, *_ended(result, configuration, gates.get(configuration))


def _undecided(found: Conclusion, compared: Comparison | None) -> bool:
    """Whether the verb gave no answer, as its exit code says too."""
    if isinstance(found, Recommendation):
        return not found.usable
    return found.unsure if isinstance(found, Scan) else compared is not None and compared.decision == "too few blocks"


def _ended(result: Result, configuration: Configuration, compared: Comparison | None) -> tuple[str, str]:
    of = [record for record in result.timed if record.configuration == configuration]
    if of and not any(record.ok for record in of):
        return "error", ending(of[-1])
    if result.changed or _undecided(result.conclusion, compared):
        return "skipped", headline.headline(result)
    if compared is None or compared.gate in (None, "passed"):
        return "", ""
    deciding = [one for one in compared.gates if one.verdict == compared.gate]
    said = "; ".join(headline.gate(compared, one, result.experiment.response) for one in deciding)
    return GATES.get(compared.gate, "skipped"), f"gate {compared.gate}: {said}"
