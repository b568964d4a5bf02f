# SPDX-License-Identifier: Apache-2.0
"""Our own result as JSON, described by `schema()`: schema/result.schema.json with the columns of show/columns.py.

NaN and infinity do not exist in JSON: they are null. Times in seconds, memory in bytes, shares as fractions.

Format history
    1  the first.
"""

import importlib.resources
import json
import math
from collections.abc import Mapping
from typing import Any

from corescale import __version__
from corescale.conclude.answers.alternatives import Cheaper, Front
from corescale.conclude.answers.candidates import Candidate
from corescale.conclude.answers.fallen import Flaky
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Curve, Row, Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.answers.verdict import Comparison
from corescale.conclude.answers.weak import WeakScaling
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.laws import LAWS, Fit
from corescale.conclude.laws.overhead_factors import OverheadFit
from corescale.conclude.race.rehearsal import Rehearsal
from corescale.conclude.stats import Interval
from corescale.records import Configuration
from corescale.show import columns, headline
from corescale.show.result import Result

FORMAT = 1

Json = dict[str, Any]


def to_json(result: Result) -> str:
    """The JSON text, in ASCII."""
    return json.dumps(to_dict(result), indent=2, allow_nan=False)


def schema() -> Json:
    """The JSON schema (draft 2020-12) that every export meets."""
    file = importlib.resources.files("corescale.show") / "schema" / "result.schema.json"
    found: Json = json.loads(file.read_text(encoding="utf-8"))
    for name, table in columns.TABLES.items():
        row = found["$defs"][name]
        row["properties"] |= {c.name: {**c.format.schema, "description": c.explained} for c in table}
        row["required"] += [column.name for column in table]
    return found


def to_dict(result: Result) -> Json:
    """The result as JSON values."""
    stop = result.stop
    values: Json = {
        "format": FORMAT,
        "corescale": __version__,
        "verb": result.experiment.verb,
        "headline": headline.headline(result),
        "experiment": result.experiment.model_dump(mode="json"),
        "confidence": result.confidence,
        "origin": sorted({record.origin for record in result.records}),
        "blocks": result.blocks,
        "confirmation_blocks": result.confirmations,
        "launches": len(result.timed),
        "failures": sum(not record.ok for record in result.timed),
        "stop": None if stop is None else {"reason": stop.reason, "reached_width": stop.reached_width},
        "doubts": list(result.doubts),
        "noisy_launches": len(result.noisy),
        "left_out": list(result.experiment.left_out),
        "lines": [{**_configuration(result, c), "line": line} for c, line in result.lines.items()],
        "conclusion": _conclusion(result, result.conclusion),
        "undisturbed": None if result.undisturbed is None else _conclusion(result, result.undisturbed),
        "environment": dict(result.environment),
    }
    found: Json = finite(values)
    return found


def finite(value: Any) -> Any:
    """The same JSON values with null for every number that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _conclusion(result: Result, found: Conclusion) -> Json:
    if isinstance(found, Study):
        return {
            "kind": "study",
            "scan": _scan(result, found.found),
            "findings": [_answer(one) for one in found.answers if isinstance(one, Answer)],
            "overheads": [_modelled(one) for one in found.answers if isinstance(one, Modelled)],
        }
    if isinstance(found, Scan):
        return _scan(result, found)
    if isinstance(found, Recommendation):
        return _recommendation(result, found)
    return {"kind": "comparison", "comparisons": [_comparison(result, one) for one in found]}


def _scan(result: Result, found: Scan) -> Json:
    return {
        "kind": "scan",
        "response": found.response,
        "baseline": found.baseline,
        "p_ref": found.p_ref,
        "curves": [_curve(result, curve) for curve in found.curves],
        "weak": None if found.weak is None else _weak(found.weak),
    }


def _weak(found: WeakScaling) -> Json:
    lines = [{"p": line.p, "levels": dict(line.levels), **_fit(line.fit)} for line in found.lines]
    return {"refusal": found.refusal, "lines": lines}


def _answer(found: Answer) -> Json:
    return {
        "name": found.finding.name,
        "statement": found.finding.statement,
        "claim": found.finding.claim,
        "at": dict(found.at),
        "ratio": _interval(found.ratio),
        "verdict": found.verdict,
        "extremes": [{"at": at, "ratio": ratio} for at, ratio in found.extremes],
        "against": {"at": found.against[0], "ratio": _interval(found.against[1])} if found.against else None,
        "oversubscribed": list(found.oversubscribed),
        "failed": list(found.failed),
        "why": found.why,
        "reached": [{"at": at, "level": _interval(level)} for at, level in found.reached],
    }


def _modelled(found: Modelled) -> Json:
    choice = found.choice
    return {
        "name": found.finding.name,
        "statement": found.finding.statement,
        "claim": found.finding.claim,
        "at": dict(found.at),
        "verdict": found.verdict,
        "why": found.why,
        "reach": {"near": _interval(found.reach.near), "far": _interval(found.reach.far)} if found.reach else None,
        "best": choice.best.model if choice and choice.best else None,
        "reason": choice.statement if choice else "",
        "fits": [_overhead(fit) for fit in choice.fits] if choice else [],
    }


def _overhead(fit: OverheadFit) -> Json:
    return {
        "model": fit.model,
        "coefficients": {name: _interval(value) for name, value in fit.coefficients.items()},
        "residual": fit.residual,
        "held_out": _interval(fit.held_out),
        "doubt": fit.doubt,
    }


def _curve(result: Result, curve: Curve) -> Json:
    choice = curve.choice
    return {
        "label": curve.label,
        "rows": [_row(result, row) for row in curve.rows],
        "law": choice.best.law if choice and choice.best else None,
        "statement": choice.statement if choice else "",
        "fits": [_fit(fit) for fit in curve.fits],
        "overheads": [_overhead(fit) for fit in curve.overhead.fits] if curve.overhead else [],
    }


def _row(result: Result, row: Row) -> Json:
    return {
        **_configuration(result, row.configuration),
        "p": row.p,
        **_columns("row", row, result),
        "idle": row.idle,
        "launches": row.launches,
        "failures": row.failures,
    }


def _fit(fit: Fit) -> Json:
    return {
        "law": fit.law,
        "parameters": {name: _interval(value) for name, value in fit.parameters.items()},
        "residual": fit.residual,
        "identifiable": fit.identifiable,
        "doubt": fit.doubt,
        "measured": list(fit.measured),
        "forecast": _forecast(fit),
    }


def _forecast(fit: Fit) -> Json | None:
    if not fit.identifiable or fit.law not in LAWS:
        return None
    beyond = fit.forecast(2 * fit.measured[1])
    return {"p": beyond.p, "time": _interval(beyond.seconds), "origin": "extrapolated"}


def _recommendation(result: Result, found: Recommendation) -> Json:
    return {
        "kind": "recommendation",
        "keep_today": found.keep_today,
        "chosen": _configuration(result, found.chosen),
        "line": result.line(found.chosen),
        "today": _configuration(result, found.today),
        "winner": _configuration(result, found.winner),
        "gain": None if found.gain is None else _interval(found.gain),
        "within": found.within,
        "candidates": [_candidate(result, candidate) for candidate in found.candidates],
        "cheaper": _cheaper(result, found.cheaper),
        "fronts": [_front(result, front) for front in found.fronts],
        "not_told_apart": [{**_configuration(result, c), "faster_at_most": most} for c, most in found.not_told_apart],
        "not_shown": list(found.not_shown),
        "failing": found.failing,
        "by_chance": found.by_chance,
        "flaky": _flaky(result, found.flaky),
        "rehearsal": _rehearsal(found.rehearsal),
    }


def _flaky(result: Result, found: Flaky | None) -> Json | None:
    if found is None:
        return None
    told = {"faster": found.faster, "failures": found.failures, "launches": found.launches}
    return {**_configuration(result, found.configuration), **told}


def _cheaper(result: Result, found: Cheaper | None) -> Json | None:
    if found is None:
        return None
    shares = {"slower": found.slower, "fewer_core_seconds": found.fewer, "blocks": found.blocks}
    return {**_configuration(result, found.configuration), **shares}


def _front(result: Result, front: Front) -> Json:
    points = [{**_configuration(result, c), "response": time, "value": value} for c, time, value in front.points]
    return {"metric": front.metric, "larger_is_better": front.larger_is_better, "points": points}


def _rehearsal(found: Rehearsal | None) -> Json | None:
    if found is None:
        return None
    return {"trusted": found.trusted, "raced": len(found.kept), "of": found.of, "says": found.says}


def _candidate(result: Result, candidate: Candidate) -> Json:
    return {
        **_configuration(result, candidate.configuration),
        **_columns("candidate", candidate, result),
        "regret": {"estimate": candidate.regret.estimate, "bound": candidate.regret.bound},
        "metrics": dict(candidate.metrics),
    }


def _comparison(result: Result, one: Comparison) -> Json:
    return {
        "reference": _configuration(result, one.reference),
        "other": _configuration(result, one.other),
        "reference_time": _interval(one.reference_time),
        **_columns("compared", one, result),
        "failures": list(one.failures),
    }


def _columns(name: str, row: object, result: Result) -> Json:
    """Every column of the row, by name."""
    found = columns.values(name, row, result).items()
    return {key: _interval(value) if isinstance(value, Interval) else value for key, value in found}


def _configuration(result: Result, configuration: Configuration) -> Json:
    labels = result.labels(configuration)
    layout = configuration.layout
    return {
        "levels": dict(configuration.levels),
        "layout": {"t": layout.threads_per_rank, "m": layout.ranks_per_node, "n": layout.nodes},
        "origin": [label for label in labels if label != "oversubscribed"] or ["measured"],
        "oversubscribed": "oversubscribed" in labels,
    }


def _interval(interval: Interval) -> Json:
    return {
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "confidence": interval.confidence,
        "n": interval.n,
    }
