# SPDX-License-Identifier: Apache-2.0
"""The sections of the page besides charts and table: facts, notes, models, failures, the machine."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.show import headline, statements, text
from corescale.show.result import Result

Part = dict[str, Any]


def facts(result: Result) -> list[Part]:
    """The numbers at the top: name, value, small print."""
    failed = [record for record in result.timed if not record.ok]
    capped = sum(record.status == "capped" for record in failed)
    of = f"of {len(result.timed)}" + (f"; {capped} capped" if capped else "")
    found = [
        *_facts(result),
        ("blocks", str(result.blocks), f"{len(result.timed)} launches in random order"),
        ("failed launches", str(len(failed) - capped), of),
        ("noisy launches", str(len(result.noisy)), "flagged by rules fixed beforehand"),
    ]
    return [{"name": name, "value": value, "small": small} for name, value, small in found]


def _facts(result: Result) -> Iterator[tuple[str, str, str]]:
    found = result.conclusion
    ran = [row for row in found.rows if row.speedup.estimate > 0] if isinstance(found, Scan) else []
    if ran and result.experiment.makes_p:
        best, most = max(ran, key=lambda row: row.speedup.estimate), max(ran, key=lambda row: row.p)
        yield "best speedup", *text.times(best.speedup)
        yield "efficiency there", *text.share(best.efficiency)
        if most.effective_cores >= 0:  # a simulation does not know them
            yield "cores used", f"{most.effective_cores:.1f}", f"of {most.p} asked for"
    if isinstance(found, Recommendation):
        seen = {candidate.configuration: candidate for candidate in found.candidates}
        for name, configuration in (("baseline", found.baseline), ("recommended", found.chosen)):
            if configuration in seen:
                yield name, *text.quantity(result.experiment.response)(seen[configuration].time)


def notes(result: Result) -> Iterator[str]:
    """The lines below the table."""
    if isinstance(result.conclusion, Study):
        yield from (f"{one.finding.statement} {statements.answer(one)}" for one in result.conclusion.answers)
    yield headline.stop(result)
    if few := headline.too_few(result):
        yield few
    if isinstance(result.conclusion, Recommendation):
        yield headline.exploratory(result.conclusion)
        yield from headline.beside(result.conclusion, rehearses=bool(result.experiment.tuning.rehearsal))
    if isinstance(result.conclusion, tuple) and (said := headline.means(result.conclusion, result.experiment.response)):
        yield said
    asked = result.experiment
    yield from (statements.constraint(each, asked.metrics) for each in asked.tuning.constraints)
    yield from (f"left out: {reason}" for reason in result.experiment.left_out)


def models(found: Scan | None) -> list[Part]:
    """The model of each curve with enough levels to test one, its parameters, and extrapolated forecasts."""
    if found is None:
        return []
    return [
        {
            "label": curve.label,
            "statement": curve.choice.statement,
            "lines": list(statements.model(curve, found.response)),
        }
        for curve in found.curves
        if curve.choice is not None and curve.choice.best is not None and curve.tests_models
    ]


def failures(result: Result) -> list[Part]:
    """The first failure of every configuration with the end of its output."""
    bad = {record.configuration: record for record in reversed(result.timed) if not record.ok}
    return [
        {"label": c.label, "status": r.status, "exit_code": r.exit_code, "lines": r.tail.splitlines()}
        for c, r in reversed(bad.items())
    ]


WORDS = {
    "affinity": "CPUs allowed",
    "cpu_model": "processor",
    "cpus": "CPUs",
    "created": "measured",
    "l3_bytes": "L3 cache",
    "l3_domain": "L3 domain",
    "numa_node": "NUMA node",
    "sources": "probes",
}
"""how stored names are written, if replacing underscores is not enough"""


def environment(found: Mapping[str, Any]) -> list[Part]:
    """Everything that is stored about the machine, with names in words."""
    subject = dict(found.get("subject", {}))
    programs = subject.pop("programs", {})
    rest = {name: value for name, value in found.items() if name not in ("machine", "description", "subject")}
    whole = {**found.get("machine", {}), **found.get("description", {}), **rest, **subject}
    named = [{"name": name, "value": value, "small": ""} for name, value in map(_in_words, _flat((), whole))]
    return [*named, *(_program(str(name), of) for name, of in programs.items())]


def _program(name: str, of: Mapping[str, Any]) -> Part:
    """Which file was measured, with its size and hash."""
    small = ", ".join([*([text.memory(of["size"])] if "size" in of else []), f"SHA-256 {of.get('sha256', 'unknown')}"])
    return {"name": f"program {name}", "value": of.get("path") or "not found", "small": small}


def _in_words(pair: tuple[tuple[str, ...], Any]) -> tuple[str, str]:
    """`L3 cache: 32.0 MiB`; a variable of the environment keeps its name."""
    (first, *deeper), value = pair
    if first == "variables":
        return ".".join(deeper), str(value)
    said = " ".join(_word(part) for part in (first, *deeper))
    if first == "created":
        return said, time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(float(value)))
    if first.endswith("_bytes"):
        return said, text.memory(int(value))
    return said, f"{value} bytes" if first == "cache_line" else str(value)


def _word(name: str) -> str:
    return WORDS.get(name, name.removesuffix("_bytes").replace("_", " "))


def _flat(name: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The non-empty leaves, by path; for the CPUs, the number of each kind."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat((*name, str(key)), inner)
    elif name == ("cpus",) and value:
        kinds = ["cpu", *sorted(value[0].keys() - {"cpu"})]
        counts = [(len({of[kind] for of in value if kind in of}), kind) for kind in kinds]
        yield name, ", ".join(text.count(n, "CPU" if kind == "cpu" else _word(kind)) for n, kind in counts)
    elif isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list | tuple) for inner in value):
            yield from _flat(name, dict(enumerate(value, 1)))
        elif value:
            yield name, " ".join(map(str, value))
    elif value is not None and value != "":
        yield name, ("yes" if value else "no") if isinstance(value, bool) else value
