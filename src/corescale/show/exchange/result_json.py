# SPDX-License-Identifier: Apache-2.0
"""Our own result as JSON. The types of result_schema.py say what it contains, and OWN where a value comes from.

Format history
    2  plain names (`baseline`, `warnings`, `confirmation_pairs`, `model`, `tied_with`); 1, the first, had others.
"""

import functools
import json
import math
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from corescale import __version__
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.models import MODELS, Fit, Forecast
from corescale.conclude.stats import Interval
from corescale.records import Configuration
from corescale.show import columns, headline
from corescale.show.exchange import result_schema as schema
from corescale.show.result import Result

Json = dict[str, Any]
CONCLUSIONS: Mapping[type, Any] = {
    Study: schema.Study,
    Scan: schema.Scan,
    Recommendation: schema.Recommendation,
    tuple: schema.Comparison,
}


def to_json(result: Result) -> str:
    """The JSON text, in ASCII."""
    return json.dumps(to_dict(result), indent=2, allow_nan=False)


def to_dict(result: Result) -> Json:
    """The result as JSON values."""
    values: Json = finite(_json(schema.Result, result, result))
    return values


def finite(value: Any) -> Any:
    """The same JSON values with null for every number that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _json(kind: Any, found: Any, result: Result) -> Any:
    """The JSON value of that type: an object's by attribute, a tuple's by place; None stays None."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [one for one in inner if one is not NoneType]
        return _json(CONCLUSIONS.get(type(found), kinds[0]) if len(kinds) > 1 else kinds[0], found, result)
    if origin is list and found is not None:
        return [_json(inner[0], one, result) for one in found]
    if origin is dict and found is not None:
        return {key: _json(inner[1], one, result) for key, one in found.items()}
    return _object(kind, found, result) if is_typeddict(kind) and found is not None else found


_hints = functools.cache(get_type_hints)


def _object(kind: Any, found: Any, result: Result) -> Json:
    values, hints = Json(), _hints(kind)
    if "layout" in hints:
        values |= _configuration(found, result)
    places = iter(found[1:] if values else found) if isinstance(found, tuple) else iter(())
    for name, of in hints.items():
        if name not in values:
            values[name] = _json(of, _value(kind, name, of, found, result, places), result)
    for name, value in columns.values(kind.__name__, found, result).items() if kind.__name__ in columns.TABLES else ():
        values[name] = _json(schema.Interval, value, result) if isinstance(value, Interval) else value
    return values


def _value(kind: Any, name: str, of: Any, found: Any, result: Result, places: Any) -> Any:
    if own := OWN.get(f"{kind.__name__}.{name}", OWN.get(name)):
        return own(found, result)
    if get_origin(of) is Literal and len(get_args(of)) == 1:
        return get_args(of)[0]
    if isinstance(found, tuple):
        return next(places)
    parts = (found, *(getattr(found, part) for part in ("finding", "fit") if hasattr(found, part)))
    return getattr(next(part for part in parts if hasattr(part, name)), name)


def _configuration(found: Any, result: Result) -> Json:
    """The values of a configuration, or of an object that has one."""
    own = found[0] if isinstance(found, tuple) else found
    configuration = own if isinstance(own, Configuration) else own.configuration
    labels = result.qualifiers(configuration)
    return {
        "levels": dict(configuration.levels),
        "layout": _json(schema.Layout, configuration.layout, result),
        "origin": [label for label in labels if label != "oversubscribed"] or ["measured"],
        "oversubscribed": "oversubscribed" in labels,
    }


def _forecast(fit: Fit) -> Forecast | None:
    return fit.forecast(2 * fit.measured[1]) if fit.identifiable and fit.model in MODELS else None


OWN: Mapping[str, Callable[[Any, Result], Any]] = {
    "corescale": lambda found, _: __version__,
    "verb": lambda found, _: found.experiment.verb,
    "headline": lambda found, _: headline.headline(found),
    "experiment": lambda found, _: found.experiment.model_dump(mode="json"),
    "Result.origin": lambda found, _: sorted({record.origin for record in found.records}),
    "confirmation_pairs": lambda found, _: found.confirmations,
    "Result.launches": lambda found, _: len(found.timed),
    "Result.failures": lambda found, _: sum(not record.ok for record in found.timed),
    "noisy_launches": lambda found, _: len(found.noisy),
    "left_out": lambda found, _: list(found.experiment.left_out),
    "Result.lines": lambda found, _: list(found.lines.items()),
    "Study.scan": lambda found, _: found.found,
    "findings": lambda found, _: [one for one in found.answers if isinstance(one, Answer)],
    "Study.overheads": lambda found, _: [one for one in found.answers if isinstance(one, Modelled)],
    "comparisons": lambda found, _: found,
    "Curve.model": lambda found, _: found.choice.best.model if found.choice and found.choice.best else None,
    "Curve.statement": lambda found, _: found.choice.statement if found.choice else "",
    "Curve.overheads": lambda found, _: found.overhead.fits if found.overhead else [],
    "Modelled.best": lambda found, _: found.choice.best.model if found.choice and found.choice.best else None,
    "Modelled.reason": lambda found, _: found.choice.statement if found.choice else "",
    "Modelled.fits": lambda found, _: found.choice.fits if found.choice else [],
    "Fit.forecast": lambda found, _: _forecast(found),
    "Line.forecast": lambda found, _: _forecast(found.fit),
    "Line.levels": lambda found, _: dict(found.levels),
    "Beyond.time": lambda found, _: found.seconds,
    "Layout.t": lambda found, _: found.threads_per_rank,
    "Layout.m": lambda found, _: found.ranks_per_node,
    "Layout.n": lambda found, _: found.nodes,
    "line": lambda found, result: result.line(found.chosen),
    "Launchable.line": lambda found, _: found[1],
    "raced": lambda found, _: len(found.kept),
    "fewer_core_seconds": lambda found, _: found.fewer,
}
"""values of names that no attribute has, for one type (`Type.name`) or for any"""
