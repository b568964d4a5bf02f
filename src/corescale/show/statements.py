# SPDX-License-Identifier: Apache-2.0
"""Statements that several outputs share: about one command, a model and its forecasts, and the results of a study."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from corescale.conclude.answers.claim_verdicts import LEFT_OUT, Verdict
from corescale.conclude.answers.findings import Answer
from corescale.conclude.answers.overheads import Modelled
from corescale.conclude.answers.scaling import Curve, Scan
from corescale.conclude.answers.several_machines import Difference
from corescale.conclude.answers.study import Power
from corescale.conclude.answers.timing import Timing
from corescale.conclude.answers.weak_scaling import Line
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.forecast import Prediction, Scored
from corescale.conclude.models import MODELS, Fit
from corescale.conclude.models.fit import FEWEST_LEVELS
from corescale.conclude.models.overhead_factors import OverheadFit
from corescale.conclude.stats import Interval, fewest_blocks
from corescale.declare.experiment import Constraint, Experiment
from corescale.declare.outputs import Finding
from corescale.records import Level
from corescale.show import text
from corescale.show.columns import METRICS, SIX_DIGITS
from corescale.show.naming import label


def findings(answers: Sequence[Answer | Modelled]) -> str:
    """`4 statements: 2 hold, 1 does not hold, 1 is open`. A statement may have answers at several levels."""
    if not answers:
        return ""
    names = {answer.finding.name for answer in answers}
    answered = "" if len(answers) == len(names) else f", {text.count(len(answers), 'answer')}"
    return f"{text.count(len(names), 'statement')}{answered}: {tally(answers)}"


def tally(answers: Sequence[Answer | Modelled]) -> str:
    """`2 hold, 1 is open`."""
    of = {verdict: sum(answer.verdict == verdict for answer in answers) for verdict in VERDICTS}
    return ", ".join(f"{number} {VERDICTS[verdict][number != 1]}" for verdict, number in of.items() if number)


VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "equal": ("is equal within the margin", "are equal within the margin"),
    "does not hold": ("does not hold", "do not hold"),
    "open": ("is open", "are open"),
    "not on this machine": ("has no answer here", "have no answer here"),
}
"""A verdict as a verb, for one and for several."""


def answer(found: Answer | Modelled) -> str:
    """`at share=15: holds, ratio 1.18 [1.15, 1.22] where >= 1.1 is claimed. It ranges from 1.12 at load=1 to ...`."""
    at, said = levels(found.at), _modelled(found) if isinstance(found, Modelled) else _ratio(found)
    return text.clean(f"at {at}: {said}" if at else said)


def levels(at: Mapping[str, Level]) -> str:
    """`threads=2 load=1`."""
    return " ".join(f"{name}={level}" for name, level in at.items())


def _ratio(found: Answer) -> str:
    if found.verdict == "not on this machine":
        here = "not measured" if found.why.startswith((LEFT_OUT, "no launch")) else "not on this machine"
        return f"{here}: {found.why}"
    what = "difference" if found.finding.difference else "ratio" if found.finding.b is not None else found.finding.y
    written = text.number if found.reached else text.ratio  # the ends of a level's interval may be 0 and infinity
    several = f" of {found.finding.several} levels" if found.finding.several else ""
    shown = text.join(written(found.ratio))
    verdict = f"equal within {_margin(found.finding)}" if found.verdict == "equal" else found.verdict
    said = f"{verdict}, {what} {shown} where {found.finding.claim} is claimed{several}"
    said += f". The best is {found.chosen}" if found.chosen else ""
    if found.reached:
        said += f" of {found.finding.along}: {' and '.join(f'{_level(level)} at {at}' for at, level in found.reached)}"
    if found.ratio.low is None:
        said += f" ({text.count(found.ratio.n, 'block')}: too few for an interval)"
    if len({f"{ratio:.3g}" for _, ratio in found.extremes}) > 1:
        (least, low), (most, high) = found.extremes
        said += f". It ranges from {low:.3g} at {least} to {high:.3g} at {most}"
    if found.against:
        level, ratio = found.against
        said += f". The claim is not shown at {level}: {text.join(text.ratio(ratio))}"
    if found.failed:
        said += f". Left out, because launches failed: {', '.join(found.failed)}"
    if found.oversubscribed:
        said += f"; oversubscribed at p={', '.join(map(str, found.oversubscribed))}"
    return said


def _margin(finding: Finding) -> str:
    return f"{finding.margin:g}" if finding.difference else text.percent(finding.margin)


def _level(found: Interval) -> str:
    """`230 [210, 260]`; `400 [400, unknown]` if no measured level shows the end."""
    if found.low is None or found.high is None:
        return f"{found.estimate:.4g}"
    low = f"{found.low:.4g}" if found.low > 0 else "unknown"
    return f"{found.estimate:.4g} [{low}, {f'{found.high:.4g}' if math.isfinite(found.high) else 'unknown'}]"


def powers(found: Sequence[Power]) -> Iterator[str]:
    """A line for each answer, and one for all of them."""
    for one in found:
        yield text.clean(f"{' '.join(filter(None, (one.answer.finding.name, levels(one.answer.at))))}: {_power(one)}")
    able = [one for one in found if one.blocks is not None]
    if not any(math.isfinite(one.scatter) for one in found):
        yield "no power is known: that takes a run with two blocks of the levels that a finding compares"
        return
    if not able:
        yield "no answer can be shown within its margin by so many blocks: a wider margin, or less noise, is needed"
        return
    seconds = text.duration(sum(one.seconds for one in able))
    yield f"{len(able)} of {text.count(len(found), 'answer')} can be shown within the margin, in {seconds} at most"


def _power(one: Power) -> str:
    if not math.isfinite(one.scatter):
        return _ratio(one.answer) if one.answer.why else "fewer than two blocks of what it compares"
    finding, most = one.answer.finding, f"{one.most} blocks can show {_size(one.shown, one.answer.finding)}"
    scatter = f"scatter {_size(one.scatter, finding)}; {most}"
    if one.blocks is None:
        return f"{scatter}, not the margin of {_margin(finding)}"
    return f"{scatter}; the margin of {_margin(finding)} takes {one.blocks} blocks, {text.duration(one.seconds)}"


def _size(log: float, finding: Finding) -> str:
    return f"{log:.2g}" if finding.difference else f"{100 * math.expm1(log):.2g}%"


def _modelled(found: Modelled) -> str:
    """`holds: f = 41 [39, 43] x grain. It is off by 0.01 [0.01, 0.02] ... Cross-validation: ...`."""
    if found.choice is None or found.claimed is None:
        return f"not on this machine: {found.why}"
    why = f" ({found.why})" if found.why else ""
    said = f"{found.verdict}{why}: {overhead(found.claimed)}"
    if found.beside is not None:
        said += f". The fit that is claimed to predict better is {overhead(found.beside)}"
    elif found.reach is not None:
        near, far = (text.join(text.share(one)) for one in (found.reach.near, found.reach.far))
        many = text.count(found.reach.beyond, "configuration")
        said += f". It was {found.choice.statement}, and there it is off by {near} of the time. "
        said += f"Beyond that, in {many}, it is off by {far}"
    else:
        said += f". Cross-validation: {found.choice.statement}"
        if found.choice.best is not None and found.choice.best is not found.claimed:
            said += f": {overhead(found.choice.best)}"
    said += "; oversubscribed launches are among them" if found.oversubscribed else ""
    warning = found.claimed.warning
    return said + (f"; warning: {warning}" if warning and warning != found.why else "")


def overhead(fit: OverheadFit) -> str:
    """`f = 41 [39, 43] x grain. It is off by 0.01 [0.01, 0.02] on configurations left out of the fit`."""
    tested = fit.held_out.estimate == fit.held_out.estimate  # NaN: too few configurations
    off = f". It is off by {text.join(text.number(fit.held_out))} on configurations left out of the fit"
    terms = (f"{text.join(text.number(value))} x {name}" for name, value in fit.coefficients.items())
    return f"f = {' + '.join(terms)}{off if tested else ''}"


def parameters(fit: Fit, response: str) -> Iterator[str]:
    """`T1 = 236 ms [230, 241]`: each parameter of a model in its unit; none if the levels do not determine it."""
    write = text.quantity(response)
    for one in MODELS[fit.model].parameters:
        if (value := fit.parameters.get(one.name)) is not None:
            yield f"{one.name} = {text.join((write if one.unit == 's' else text.number)(value))}"


def model(curve: Curve, response: str) -> Iterator[str]:
    """The best model of a curve: its parameters, a forecast, its warning, and overhead as a sum."""
    if curve.choice is None or (best := curve.choice.best) is None:
        return
    yield from parameters(best, response)
    if too_many := sorted({row.p for row in curve.rows if row.oversubscribed and row.p > best.measured[1]}):
        yield f"fitted up to p={best.measured[1]:g}: p={', '.join(map(str, too_many))} is oversubscribed"
    if best.identifiable:
        beyond = best.forecast(2 * best.measured[1])
        value = text.join(text.quantity(response)(beyond.seconds))
        yield f"forecast at p={beyond.p:g}: {value} (extrapolated: valid if the model holds)"
    if best.warning:
        yield f"warning: {best.warning}"
    if curve.overhead is not None and curve.overhead.best is not None:
        yield f"overhead: {overhead(curve.overhead.best)}. Cross-validation: {curve.overhead.statement}"


def constraint(asked: Constraint, metrics: Mapping[str, str]) -> str:
    """`subject to: bytes <= 1.02 * baseline`, or `m <= 10.0 MiB` if the metric's source is a memory."""
    _, form = METRICS.get(metrics.get(asked.metric, ""), ("", SIX_DIGITS))
    bound = f"{asked.bound:g} * baseline" if asked.relative else form.shown(asked.bound)[0]
    return text.clean(f"subject to: {asked.metric} {asked.relation} {bound}")


def nearness(bound: float, confidence: float, raced: str = "", *, beside: bool = False) -> str:
    """`within 1.8% of the best at 95%`; a bound of 0 means that it beat every other configuration. `beside`: there is
    also an interval before it, so it says `, each at 95%`, because each of the two claims has that confidence alone.
    """
    among = raced or " of all that was tried"
    said = f"within {text.at_most(bound)} of the best{raced}" if bound > 1e-9 else f"the best{among}"
    return f"{said}{', each' if beside else ''} at {text.percent(confidence)}"


def flat(line: Line, response: str = "wall") -> str:
    """`p=2: T = 0.10 s [0.08, 0.12] + 0.30 s [0.29, 0.31] x work: 25% of the time at load=1 does not grow`."""
    if not line.fit.identifiable:
        return text.clean(f"{line.label}: T = a + b work cannot be fitted: {line.fit.warning}")
    a, b = (text.join(text.quantity(response)(line.fit.parameters[name])) for name in ("a", "b"))
    warning = f" (warning: {line.fit.warning})" if line.fit.warning else ""
    return text.clean(f"{line.label}: T = {a} + {b} x work{warning}")


def differences(found: Sequence[Difference], where: str, experiment: Experiment) -> Iterator[str]:
    """A line for each configuration of a replay, with its time and gain here and there."""
    of = text.quantity(experiment.response)
    for one in found:
        here, there = (of(value)[0] for value in (one.here, one.there))
        line = f"{label(one.configuration) or 'the program'}: {here} here, {there} on {text.clean(where)}"
        line += f": T here / T there {text.join(text.ratio(one.time))}"
        if one.gain is not None:
            line += f"; its gain over the baseline, here / there {text.join(text.ratio(one.gain))}"
        yield line
    if found:
        yield f"Each interval is at {text.percent(experiment.stop.confidence)}, of two independent samples."


def alone(conclusion: Conclusion) -> Timing | None:
    """The time of a single command; None if there is something to compare it with, such as a serial program."""
    if isinstance(conclusion, Scan):
        only = len(conclusion.rows) == 1 and conclusion.weak is None and not conclusion.serial
        return conclusion.rows[0].timing if only else None
    return conclusion[0].alone if isinstance(conclusion, tuple) and len(conclusion) == 1 else None


def timed(label: str, found: Timing, response: str, failures: int) -> str:
    """`sleep 0.1: 101 ms ± 1.2 ms (mean ± deviation of 10 launches), from 100 ms to 103 ms`; how many failed."""
    failed = f"; {text.count(failures, 'launch', 'launches')} failed" if failures else ""
    mean, low, high = (text.value(one, response) for one in (found.mean, found.least, found.most))
    if found.deviation is None:
        return f"{label}: {mean} in one launch{failed}"
    spread = f"± {text.value(found.deviation, response)} (mean ± deviation of {found.launches} launches)"
    return f"{label}: {mean} {spread}, from {low} to {high}{failed}"


def forecast(one: Prediction | Scored, asked: Experiment) -> list[str]:
    """A forecast with its confidence, and its model; if it was scored, only with the measured time."""
    write = text.quantity(asked.response)
    label = f"{text.clean(one.label)}: " if one.label else ""
    if isinstance(one, Scored):
        verdict = {True: "covered", False: "missed", None: "no interval"}[one.covered]
        interval = text.join(write(one.forecast))
        made = f"{text.count(one.p, 'core')} from up to {one.largest:g}, {one.made}"
        more = " (oversubscribed: not counted)" if one.oversubscribed else ""
        return [f"{label}{made}: {interval}; measured {text.value(one.measured, asked.response)}: {verdict}{more}"]
    cores, fitted = text.count(one.p, "core"), f"{text.join(write(one.seconds))}{reach(one, asked)}"
    said = [f"{label}{cores}: {'looks like ' * (one.seconds.low is None)}{fitted}"]
    if one.there is not None:
        said = [f"{label}{cores}: measured {text.join(write(one.there))}", f"the model gives {fitted}"]
    if one.crowded is not None:
        said.append(f"p = {one.p}, oversubscribed, took {text.join(write(one.crowded))}")
    said.append(one.reason if one.model in one.reason else f"model {one.model}, {one.reason}")
    return [*said, *[f"warning: {one.warning}"] * bool(one.warning)]


def reach(one: Prediction, asked: Experiment) -> str:
    """The confidence of a forecast's interval, or what one would need; how far beyond the measured p it is."""
    confidence = asked.stop.confidence
    times = f"{round(one.beyond, 1):.10g} times beyond the {one.measured[1]:g} measured"
    far = f", extrapolated {times}" * (one.beyond > 1)
    if one.seconds.low is not None:
        return text.at_confidence(confidence) + far
    needed = fewest_blocks(confidence)
    lacks = [f"{needed} blocks"] * (one.seconds.n < needed)
    if one.levels < FEWEST_LEVELS and (one.beyond > 1 or not lacks):
        lacks.append(f"{FEWEST_LEVELS} levels of p")
    return f"{far}, no interval" + (f": that takes {' and '.join(lacks)}" if lacks else "")


def coverage(scored: Sequence[Scored], confidence: float) -> str:
    """How many forecasts were right, without those at more threads than cores."""
    scored = [one for one in scored if one.counts]
    held = [one.covered is True for one in scored]
    if not held:
        needs = f"{FEWEST_LEVELS} levels of p up to half of its largest, and {fewest_blocks(confidence)} blocks"
        return f"no forecast to score: a run needs {needs}"
    sealed = [one.covered is True for one in scored if one.made == "sealed"]
    of_them = f", {sum(sealed)} of {len(sealed)} sealed ones" if 0 < len(sealed) < len(held) else ""
    kind = "sealed forecasts" if len(sealed) == len(held) else "forecasts"
    wide = median(one.forecast.high / one.forecast.low for one in scored if one.forecast.low and one.forecast.high)
    return (
        f"{sum(held)} of {len(held)} {kind} covered what was measured{of_them}; "
        f"half of their intervals span a factor of {wide:.3g} or more"
    )
