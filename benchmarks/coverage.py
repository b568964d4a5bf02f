# SPDX-License-Identifier: Apache-2.0 (more than 300 lines: all tables of coverage come from one simulation)
"""How often the intervals cover the truth, by simulated experiments: scripts/bench coverage [PART ...].

Launches are simulated one after another, in the random order that each block draws, with noise that belongs to the
moment and not to the configuration. Prints the tables of docs/measuring_appendix.md, which
tests/lab/conclude/test_coverage.py asserts.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from corescale.conclude import stats
from corescale.conclude.models import MODELS, choose, fit
from corescale.conclude.models.bootstrap import summarise
from corescale.conclude.noise import carry_over, disturbed, flag_launches
from corescale.conclude.race.confirmation import Scatter, interval, scatter
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.stats import Floats, hodges_lehmann, median_interval, tail_count, walsh_bounds
from corescale.declare.plan import with_baseline
from corescale.declare.stop import Stop
from corescale.records import Configuration, Layout, Noise, Record

EXPERIMENTS = 2000
BLOCKS = (8, 15, 40)
FEW = (6, 7)
"""the fewest blocks that have an interval"""
SEED = 1
CONFIGURATIONS = 4
"""launched in each block; the ratio is that of the first two"""
TRUTH = math.log(1.31)
"""log-ratio of the first configuration to the second"""
WIDTHS = (0.4, 0.5, 0.6, 0.8, 1.2)
FITS = 500
CHOSEN = 100
"""experiments of each noise; over all five noises a share near 95% has a standard error of 1.0 points"""
Rows = list[list[str | float]]
LEVELS = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """3%, symmetric in time."""
    noise: Floats = np.log1p(0.03 * rng.standard_normal(shape).clip(-10, 10))
    return noise


def log_normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """A skewed delay on top of a floor: 5% in the median, 1 of 40 above 35%."""
    return np.log1p(0.05 * np.exp(rng.standard_normal(shape)))


def two_modes(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Two smooth modes, 8% apart, the slower one in 3 of 10 launches."""
    return 0.01 * rng.standard_normal(shape) + 0.08 * (rng.random(shape) < 0.3)


def ar1(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Correlated over launches, 0.7 from one to the next, 3% altogether."""
    noise = 0.03 * rng.standard_normal(shape)
    for launch in range(1, shape[1]):
        noise[:, launch] = 0.7 * noise[:, launch - 1] + math.sqrt(1 - 0.49) * noise[:, launch]
    return noise


def steal_bursts(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Stretches of 5 launches in the mean, a tenth of the time, each launch in them 10 to 50% slower."""
    stolen = np.zeros(shape, dtype=bool)
    change = rng.random(shape)
    stolen[:, 0] = change[:, 0] < 0.1
    for launch in range(1, shape[1]):
        stolen[:, launch] = np.where(stolen[:, launch - 1], change[:, launch] < 0.8, change[:, launch] < 0.2 / 9)
    noise: Floats = 0.01 * rng.standard_normal(shape) + stolen * np.log1p(rng.uniform(0.1, 0.5, shape))
    return noise


NOISE: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": normal,
    "log-normal": log_normal,
    "two modes": two_modes,
    "AR(1)": ar1,
    "steal bursts": steal_bursts,
}


def simulate(
    noise: str, log_means: Sequence[float] | Floats, blocks: int, experiments: int, seed: int = SEED
) -> Floats:
    """Log times, experiments x blocks x configurations, of launches in randomised complete blocks."""
    rng = np.random.default_rng([seed, list(NOISE).index(noise), blocks])
    width = len(log_means)
    order = rng.permuted(np.broadcast_to(np.arange(width), (experiments, blocks, width)), axis=-1)
    in_time = NOISE[noise](rng, (experiments, blocks * width)).reshape(experiments, blocks, width)
    noises: Floats = np.take_along_axis(in_time, np.argsort(order, axis=-1), axis=-1)
    noises += np.asarray(log_means)
    return noises


def ratios(noise: str, blocks: int, experiments: int, seed: int = SEED) -> Floats:
    """Log-ratios, experiments x blocks, whose truth is TRUTH."""
    log_times = simulate(noise, [TRUTH, 0.0, 0.1, 0.2], blocks, experiments, seed)
    differences: Floats = log_times[..., 0] - log_times[..., 1]
    return differences


def ratio_coverage(noise: str, blocks: int, experiments: int = EXPERIMENTS, seed: int = SEED) -> float:
    """Of the interval that every verdict rests upon."""
    intervals = [hodges_lehmann(sample) for sample in ratios(noise, blocks, experiments, seed)]
    return float(np.mean([interval.covers(TRUTH) for interval in intervals]))


def unequal_coverage(noise: str, blocks: int, experiments: int = EXPERIMENTS, seed: int = SEED) -> float:
    """Of the ratio's interval where the noise of the first configuration is three times as strong."""

    def differences(count: int, of_seed: int) -> Floats:
        log_times = simulate(noise, [0.0] * CONFIGURATIONS, blocks, count, of_seed)
        between: Floats = 3 * log_times[..., 0] - log_times[..., 1]
        return between

    truth = hodges_lehmann(differences(4000 // blocks, seed + 1)).estimate
    return float(np.mean([hodges_lehmann(sample).covers(truth) for sample in differences(experiments, seed)]))


def returning_coverage(noise: str, blocks: int, experiments: int = 1000, seed: int = SEED) -> float:
    """Of the baseline against another, of 12: in some blocks it comes twice, and counts with its mean logarithm."""
    rng, many = np.random.default_rng([seed, list(NOISE).index(noise), blocks]), 12
    covered = 0
    for in_time in NOISE[noise](rng, (experiments, blocks * (many + 1))):
        differences, start = [], 0
        for _ in range(blocks):
            order = np.array(with_baseline(rng.permutation(many).tolist(), 0))
            seen = in_time[start : start + order.size]
            differences.append(float(seen[order == 0].mean() - seen[order == 1].mean()))
            start += order.size
        covered += hodges_lehmann(np.array(differences)).covers(0.0)
    return covered / experiments


def width_stop_coverage(
    noise: str,
    rule: Stop,
    relative: float,
    experiments: int = EXPERIMENTS,
    seed: int = SEED,
    confidence: float | None = None,
) -> tuple[float, float]:
    """Coverage at the stop, and blocks made, for a half width wanted in interquartile ranges of standard noise."""
    samples = ratios(noise, rule.max_blocks, experiments, seed)
    width = relative * float(np.subtract(*np.percentile(samples, [75, 25]))) / 1.349
    tail = (1 - (confidence or rule.reading_confidence)) / 2
    covered, made = np.zeros(experiments, dtype=bool), np.zeros(experiments, dtype=int)
    for look in rule.looks:
        open_ = np.flatnonzero(made == 0)
        _, low, high = walsh_bounds(samples[open_, :look], tail_count(look, tail))
        stop = ((high - low) / 2 <= width) | (look == rule.max_blocks)
        made[open_[stop]] = look
        covered[open_[stop]] = ((low <= TRUTH) & (high >= TRUTH))[stop]
    return float(covered.mean()), float(made.mean())


def median_coverage(noise: str, blocks: int, experiments: int = EXPERIMENTS, seed: int = SEED) -> float:
    """Of the interval of one configuration's median time, whose truth is taken from a long simulation."""
    truth = float(np.median(simulate(noise, [0.0] * CONFIGURATIONS, 40, 5000, seed + 1)[..., 0]))
    samples = simulate(noise, [0.0] * CONFIGURATIONS, blocks, experiments, seed)[..., 0]
    return float(np.mean([median_interval(sample).covers(truth) for sample in samples]))


TRUE_TERMS = {"amdahl": np.array([9.5, 0.5]), "usl": np.array([9.5, 0.49, 0.01])}
"""What every model is tried with, in seconds: s = 0.05; sigma = 0.049, kappa = 0.001, peak at p = 30.8."""
TWO = ("amdahl", "usl")
"""the models whose choice is simulated: the table names parameters of both"""
FORECAST = 32


AFTER_THE_CHOICE = (
    "USL shown",
    "T1",
    "contention",
    "contention alone",
    "kappa",
    f"T({FORECAST})",
    f"T({FORECAST}) alone",
)


def noise_centre(noise: str, seed: int) -> float:
    """What a typical time of very many blocks is off the time without noise, in logarithm."""
    blocks = simulate(noise, np.zeros(LEVELS.size), 40, 500, seed).reshape(-1, LEVELS.size)
    return float(summarise(blocks, np.ones(len(blocks))).centres.mean())


def fit_coverage(
    model: str, noise: str, blocks: int, experiments: int = EXPERIMENTS, seed: int = SEED
) -> dict[str, float]:
    """Of each parameter and of the forecast T(32), from levels up to 16.

    A model describes typical times (trimmed means), so T1 and forecasts are compared with the truth times that of
    noise.
    """
    terms = TRUE_TERMS[model]
    true_times = MODELS[model].basis(LEVELS) @ terms
    shift = math.exp(noise_centre(noise, seed + 1))
    truth = {x.name: x.shown(float(x.of(terms * shift))) for x in MODELS[model].parameters}
    expected = shift * float(MODELS[model].basis(np.array(float(FORECAST))) @ terms)
    covered = dict.fromkeys([*truth, f"T({FORECAST})"], 0)
    for log_times in simulate(noise, np.log(true_times), blocks, experiments, seed):
        fitted = fit(MODELS[model], LEVELS, log_times, resamples=999)
        for name, value in truth.items():
            covered[name] += fitted.parameters[name].covers(value)
        covered[f"T({FORECAST})"] += fitted.forecast(FORECAST).seconds.covers(expected)
    return {name: count / experiments for name, count in covered.items()}


def chosen_coverage(
    model: str, noise: str, blocks: int, experiments: int = CHOSEN, seed: int = SEED
) -> dict[str, float]:
    """After the choice among models: how often it shows the USL, and the share of intervals that hold the truth.

    `alone`: by the model that is shown as if there were no other. Contention is the s of one model, the sigma of the
    other.
    """
    terms, shift = TRUE_TERMS[model], math.exp(noise_centre(noise, seed + 1))
    expected = shift * float(MODELS[model].basis(np.array(float(FORECAST))) @ terms)
    of_usl = shift * np.append(terms, 0.0)[:3]
    truth = {x.name: x.shown(float(x.of(of_usl))) for x in MODELS["usl"].parameters}
    held = []
    for log_times in simulate(noise, np.log(MODELS[model].basis(LEVELS) @ terms), blocks, experiments, seed):
        choice = choose({name: MODELS[name] for name in TWO}, LEVELS, log_times)
        best = choice.best
        assert best is not None
        usl, alone = best.model == "usl", choice.fits[best.model]
        one_core = best.parameters["lambda" if usl else "T1"].covers(truth["lambda"] ** (1 if usl else -1))
        contention = [x.parameters["sigma" if usl else "s"].covers(truth["sigma"]) for x in (best, alone)]
        times = [x.forecast(FORECAST).seconds.covers(expected) for x in (best, alone)]
        kappa = choice.fits["usl"].parameters["kappa"].covers(truth["kappa"])
        held.append([usl, one_core, *contention, kappa, *times])
    return dict(zip(AFTER_THE_CHOICE, np.mean(held, axis=0).tolist(), strict=True))


def warned(model: str, noise: str, blocks: int, experiments: int = 500, seed: int = SEED) -> float:
    """How often a model that is true is said to be off by more than noise."""
    times = np.log(MODELS[model].basis(LEVELS) @ TRUE_TERMS[model])
    fits = [fit(MODELS[model], LEVELS, y, resamples=99) for y in simulate(noise, times, blocks, experiments, seed)]
    return float(np.mean(["more than the noise" in x.warning for x in fits]))


def trimmed(logs: Floats) -> float:
    """What a model is fitted to, of one level."""
    return float(summarise(logs[:, None], np.ones(logs.size)).centres[0])


def estimands(launches: int = 2000, experiments: int = 50, seed: int = SEED) -> None:
    """What each location makes of a command 11% faster than another, its noise that of the moment or its own bursts."""
    rng = np.random.default_rng(seed)
    gain, noise = math.log(1.11), 0.02 * rng.standard_normal((2, experiments, launches))
    bursts = np.log1p(0.35) * (rng.random((experiments, launches)) < 1 / 7)
    cases = {"none": (0.0, 0.0), "both commands equally": (bursts, bursts), "only the faster command": (0.0, bursts)}
    rows: Rows = []
    for name, (slower, faster) in cases.items():
        a, b = gain + noise[0] + slower, noise[1] + faster
        found = [
            np.mean([hodges_lehmann(pairs).estimate for pairs in a - b]),
            (a - b).mean(),
            np.mean([trimmed(one) for one in a]) - np.mean([trimmed(one) for one in b]),
            np.median(a) - np.median(b),
            math.log(np.exp(a).mean() / np.exp(b).mean()),
        ]
        rows.append([name, *(f"{math.exp(one):.3f}x" for one in found)])
    columns = ("pseudomedian", "mean logarithm", "trimmed means", "medians", "mean times")
    table(
        "What 1.11x becomes, noise of 2% and bursts (a seventh of the launches 35% slower)", ["bursts", *columns], rows
    )


def mean_coverage(noise: str, blocks: int, experiments: int = 1000, seed: int = SEED) -> float:
    """Of the ratio of mean times, by which `compare --gate mean=5%` judges."""
    samples = np.exp(simulate(noise, [TRUTH, 0.0, 0.1, 0.2], blocks, experiments, seed))
    found = [stats.ratio_of_means(pairs[:, 0], pairs[:, 1]) for pairs in samples]
    return float(np.mean([interval.covers(math.exp(TRUTH)) for interval in found]))


def slow_mode_coverage(share: float, times: float, blocks: int, experiments: int = 1000) -> tuple[float, float]:
    """Of the ratio of means if that share of one side's launches take so many times longer; and how often a gate of 5%
    on the mean passes."""
    rng = np.random.default_rng([SEED, blocks])
    a, b = np.exp(0.02 * rng.standard_normal((2, experiments, blocks)))
    a = a * np.where(rng.random(a.shape) < share, times, 1.0)
    found = [stats.ratio_of_means(*pair) for pair in zip(a, b, strict=True)]
    truth = 1 + share * (times - 1)
    passed = [interval.high is not None and interval.high <= 1.05 for interval in found]
    return float(np.mean([interval.covers(truth) for interval in found])), float(np.mean(passed))


def drawn_orders(rng: np.random.Generator, blocks: int) -> Any:
    """Of two commands, each block's drawn."""
    return rng.permuted(np.tile([0, 1], (blocks, 1)), axis=1)


def reversed_orders(rng: np.random.Generator, blocks: int) -> Any:
    """Every other block reverses the order of the block before: plan.next_block."""
    order = drawn_orders(rng, blocks)
    order[1::2] = order[: blocks - 1 : 2, ::-1]
    return order


def alternating_orders(rng: np.random.Generator, blocks: int) -> Any:
    """Each block reverses the order of the block before."""
    return (np.arange(blocks)[:, None] + np.array([0, 1]) + rng.integers(2)) % 2


ORDERS = {"drawn": drawn_orders, "reversed": reversed_orders, "alternating": alternating_orders}


def every_fourth(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """3%, and as much on every fourth launch."""
    noise: Floats = normal(rng, shape) + 0.03 * ((np.arange(shape[1]) + rng.integers(4, size=(shape[0], 1))) % 4 == 0)
    return noise


def carried(
    noise: str, blocks: int, effect: float, experiments: int = 1000, seed: int = SEED, planned: str = "reversed"
) -> tuple[float, float]:
    """How often a comparison of two warns of carry-over, and its ratio covers 1, if launches behind the second take
    that share more."""
    warned, covered = 0, 0
    kinds = NOISE | {"every fourth": every_fourth}
    rng = np.random.default_rng([seed, list(kinds).index(noise), blocks])
    for in_time in kinds[noise](rng, (experiments, 2 * blocks)):
        order = ORDERS[planned](rng, blocks)
        ran = order.ravel()
        logs = in_time + math.log1p(effect) * np.append(False, ran[:-1] == 1)
        times = np.empty((blocks, 2))
        np.put_along_axis(times, order, logs.reshape(blocks, 2), axis=1)
        warned += carry_over(logs, ran) is not None
        covered += hodges_lehmann(times[:, 1] - times[:, 0]).covers(0.0)
    return warned / experiments, covered / experiments


def undisturbed(
    blocks: int, share: float, outside: float, experiments: int = 1000, seed: int = SEED
) -> tuple[float, float, float]:
    """Flags mean 10% more time. Of the second command that share has its own, and that share of blocks all of it.

    How often an answer without disturbed blocks is given, how often it covers what a machine without these would give,
    and how often that of all blocks covers its own.
    """
    rng = np.random.default_rng([seed, blocks])

    def drawn(*shape: int, calm: bool = False) -> tuple[Floats, Any]:
        hit = np.broadcast_to(rng.random((*shape, 1)) < (0 if calm else outside), (*shape, 2)).copy()
        hit[..., 1] |= rng.random(shape) < share
        return 0.02 * rng.standard_normal((*shape, 2)) + hit * math.log(1.1), hit

    def found(times: Floats) -> stats.Interval:
        return hodges_lehmann(times[:, 1] - times[:, 0])

    truth, without = (found(drawn(4000, calm=calm)[0]).estimate for calm in (False, True))
    shown, second, first = 0, 0, 0
    for times, flags in zip(*drawn(experiments, blocks), strict=True):
        launches = [_robbed(block, bool(flag)) for block, pair in enumerate(flags) for flag in pair]
        bad = disturbed(launches, flag_launches(launches))
        kept = times[[k not in bad for k in range(blocks)]]
        first += found(times).covers(truth)
        if bad and len(kept) >= FEW[0]:
            shown += 1
            second += found(kept).covers(without)
    return shown / experiments, second / shown if shown else math.nan, first / experiments


def _robbed(block: int, flagged: bool) -> Record:
    """A launch of a second; a flagged one lost time to the hypervisor."""
    return Record(
        plan="", configuration=Configuration((), Layout()), phase="measure", block=block, attempt=0, order=0, seed=0,
        started=0.0, wall=1.0, status="ok", exit_code=0, user=1.0, noise=Noise(steal=0.5 * flagged),
    )  # fmt: skip


def confirmed(pairs: int, factor: float, experiments: int = 1000, seed: int = SEED) -> float:
    """Of a tune's interval of few pairs, if the noise of its candidate is that many times the baseline's 3%."""
    rng = np.random.default_rng([seed, pairs])
    signs, covered = np.where(np.arange(pairs) % 2, -1.0, 1.0), 0
    for _ in range(experiments):
        race, fresh = 0.03 * rng.standard_normal((2, 5)), 0.03 * rng.standard_normal((2, pairs))
        noisy = [row * by for row, by in zip((*race, *fresh), (1, factor, 1, factor), strict=True)]
        lent = Scatter(OPTIONS.lent, scatter([np.exp(row).tolist() for row in noisy[:2]]).variance)
        single = scatter([np.exp(np.append(noisy[k], noisy[k + 2])).tolist() for k in (0, 1)])
        middle, reach, _ = interval(noisy[2] - noisy[3], signs, 0.05, lent, single, OPTIONS)
        covered += reach is not None and middle - reach[0] <= 0 <= middle + reach[1]
    return covered / experiments


def table(title: str, columns: Sequence[str], rows: Rows) -> None:
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.1%}" for cell in row) + " |", flush=True)


def per_blocks(title: str, cell: Callable[[str, int], float], counts: Sequence[int] = BLOCKS) -> None:
    """One row a noise, one column a number of blocks."""
    rows: Rows = [[noise, *(cell(noise, blocks) for blocks in counts)] for noise in NOISE]
    table(title, ["noise", *(f"{blocks} blocks" for blocks in counts)], rows)


def stops(title: str, rule: Stop, confidence: float | None = None) -> None:
    """One row a noise, one column a wanted width; mean blocks in brackets."""
    cells = [[width_stop_coverage(noise, rule, width, confidence=confidence) for width in WIDTHS] for noise in NOISE]
    rows: Rows = [
        [noise, *(f"{share:.1%} ({made:.0f})" for share, made in row)] for noise, row in zip(NOISE, cells, strict=True)
    ]
    table(title, ["noise", *(f"{width:g} sd" for width in WIDTHS)], rows)


def per_row(title: str, cell: Callable[[str, int], dict[str, float]], counts: Sequence[int] = BLOCKS) -> None:
    """One row a noise and number of blocks, one column each share."""
    cells = {(noise, blocks): cell(noise, blocks) for noise in NOISE for blocks in counts}
    rows: Rows = [[noise, str(blocks), *shares.values()] for (noise, blocks), shares in cells.items()]
    for blocks in counts:
        together = np.mean([list(cells[noise, blocks].values()) for noise in NOISE], axis=0)
        rows.append(["all five", str(blocks), *together.tolist()])
    table(title, ["noise", "blocks", *next(iter(cells.values()))], rows)


def fits(model: str, counts: Sequence[int] = BLOCKS) -> None:
    per_row(f"Fits of {model}, {FITS} experiments a row", partial(fit_coverage, model, experiments=FITS), counts)


PARTS: dict[str, Callable[[], None]] = {
    "ratio": lambda: per_blocks("Ratios, 95% asked, 2,000 experiments a cell", ratio_coverage),
    "returning": lambda: per_blocks("Ratios to the baseline where it comes twice in some blocks", returning_coverage),
    "unequal": lambda: per_blocks("Ratios, one configuration three times as noisy", unequal_coverage),
    "stop": lambda: stops("At a width stop, from 8 to 40 blocks", Stop()),
    "stop-plain": lambda: stops("The same with 95% at each look, not used", Stop(), 0.95),
    "stop-from-6": lambda: stops("The same from 6 blocks on", Stop(min_blocks=6)),
    "median": lambda: per_blocks("Median time of one configuration", median_coverage),
    "ratio-few": lambda: per_blocks("Ratios of the fewest blocks", ratio_coverage, FEW),
    **{model: partial(fits, model) for model in MODELS},
    **{f"{model}-few": partial(fits, model, FEW) for model in MODELS},
    **{
        f"chosen-{model}": partial(
            per_row,
            f"After the choice, data of {model}, {CHOSEN} experiments a row",
            partial(chosen_coverage, model),
            (*FEW, *BLOCKS),
        )
        for model in TWO
    },
    "estimands": estimands,
    "mean": lambda: per_blocks("Ratio of means, 95% asked, 1,000 experiments a cell", mean_coverage),
    "mean-slow": lambda: table(
        "Ratio of means with a slow mode of one side, and how often --gate mean=5% passes",
        ["slow launches", *(f"{blocks} blocks{of}" for blocks in BLOCKS for of in ("", ", passed"))],
        [
            [f"{share:.0%} {times:g} times", *(x for n in BLOCKS for x in slow_mode_coverage(share, times, n))]
            for share, times in ((0.0, 1.0), (0.1, 1.6), (0.05, 3.0))
        ],
    ),
    "orders": lambda: table(
        "Coverage of the ratio of two commands by the order of launches, and with a carry-over of 3%",
        ["noise", "carry-over", *(f"{blocks} blocks {planned}" for blocks in BLOCKS for planned in ORDERS)],
        [
            [noise, f"{effect:.0%}", *(carried(noise, n, effect, planned=order)[1] for n in BLOCKS for order in ORDERS)]
            for effect in (0.0, 0.03)
            for noise in (*NOISE, "every fourth")
        ],
    ),
    "carry-over": lambda: table(
        "Carry-over of two commands: warned, and the ratio's coverage",
        ["noise", "effect", *(f"{blocks} blocks{of}" for blocks in BLOCKS for of in (" warned", " covered"))],
        [
            [noise, f"{effect:.0%}", *(x for n in BLOCKS for x in carried(noise, n, effect))]
            for noise in NOISE
            for effect in (0.0, 0.03)
        ],
    ),
    "undisturbed": lambda: table(
        "Flags of one side's own, and of whole blocks: an answer without these blocks, its coverage, and that of all",
        ["own, blocks", *(f"{n} blocks{of}" for n in (8, 12, 20, 40) for of in (" shown", " covered", " all"))],
        [
            [f"{share:.0%}, {outside:.0%}", *(x for n in (8, 12, 20, 40) for x in undisturbed(n, share, outside))]
            for share in (0.0, 0.1, 0.2, 0.3)
            for outside in (0.0, 0.2)
        ],
    ),
    "confirmed": lambda: table(
        "A tune's interval of few pairs, by the candidate's noise",
        ["pairs", "equal", "2 times", "3 times"],
        [[str(n), *(confirmed(n, factor) for factor in (1, 2, 3))] for n in (2, 4, 6, 8, 10, 12, 20)],
    ),
    "warning": lambda: per_blocks(
        "A true USL warned for its residuals, 500 experiments a cell", partial(warned, "usl")
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="*", default=[], help=f"of {' '.join(PARTS)}; all without one")
    for name in parser.parse_args().part or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
