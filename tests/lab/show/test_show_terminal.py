# SPDX-License-Identifier: Apache-2.0
"""What the terminal says: the numbers, the warnings, at every width, without obeying what a program printed."""

import io
import itertools
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from corescale.conclude import stats
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.policy import Decision
from corescale.conclude.stats import Interval, Regret
from corescale.records import Noise
from corescale.show import headline, plot, terminal, text
from corescale.show.result import Result
from support import samples


def printed(
    result: Result, width: int = 120, encoding: str = "utf-8", colour: bool = False, model: bool = False
) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    Console(file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None).print(
        terminal.render(result, model=model)
    )
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("name", samples.RESULTS)
@pytest.mark.parametrize("width", [60, 72, 80, 84, 112, 160])
def test_every_line_fits(name: str, width: int) -> None:
    result = samples.RESULTS[name]()
    lines = printed(result, width).splitlines()
    assert len(lines) > len(result.lines), "a line for each configuration and some words"
    assert [line for line in lines if cell_len(line) > width and "LD_PRELOAD" not in line] == []
    assert all(line.count("[") == line.count("]") for line in lines if re.search(r"\d, [\d-]", line)), "an end was cut"


@pytest.mark.parametrize("name", samples.RESULTS)
def test_ascii_terminals_get_ascii(name: str) -> None:
    result = samples.RESULTS[name]()
    shown = printed(result, encoding="ascii")
    assert shown.isascii() and headline.stop(result) in shown


@pytest.mark.parametrize("width", [60, 120])
def test_program_output_is_text(width: int) -> None:
    shown = printed(samples.RESULTS["failing tune"](), width)
    assert "\x1b" not in shown and "\x07" not in shown
    assert "[bold]markup[/bold]" in re.sub(r"\s+", " ", shown)


def test_program_output_sends_no_colour_of_its_own() -> None:
    coloured = printed(samples.RESULTS["failing tune"](), colour=True)
    assert "\x1b[31mred" not in coloured and "\x1b[" in coloured


def test_no_colour_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in printed(samples.RESULTS["scan"]())
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # a dumb one has no bold letters either
    raw = io.StringIO()
    Console(file=raw, width=100, force_terminal=True).print(terminal.render(samples.RESULTS["scan"]()))
    assert "speedup" in raw.getvalue() and "\x1b[1m" in raw.getvalue()
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", raw.getvalue())


def test_the_first_line_says_that_cores_were_not_used() -> None:
    single = samples.scan_result(made=samples.records(samples.scan_experiment(), lambda c: 2.0, 12))
    first = printed(single).splitlines()[0]
    assert first.startswith("asked for 8 threads, used 1.0 cores; ")


def test_a_speedup_is_claimed_only_beyond_its_interval() -> None:
    flat = samples.scan_result(made=samples.records(samples.scan_experiment(), lambda c: 2.0 - c.layout.p / 1e4, 12))
    said = headline.headline(flat)
    assert "faster [" not in said
    assert "no difference shown" in said or "never faster" in said


def test_scan_shows_the_known_truth_and_its_label() -> None:
    shown = printed(samples.scan_result(40, noise=0.003), 140, model=True)
    row = next(line for line in shown.splitlines() if re.match(r"\s+8 ", line))
    speedup = float(re.findall(r"([\d.]+)x", row)[0])
    assert speedup == pytest.approx(1 / (0.12 + 0.88 / 8), rel=0.01)
    assert "fake" in shown and "extrapolated" in shown


def test_the_recommendation_names_gain_line_and_reasons() -> None:
    shown = printed(samples.RESULTS["tune"]())
    gain = re.match(r"([\d.]+)x faster than threads=8\s+allocator=system \[([\d.]+), ([\d.]+)\]", shown)
    assert gain and float(gain[2]) <= 1 / 0.9 <= float(gain[3])
    assert "env LD_PRELOAD=/usr/lib/libmimalloc.so ./solver -t 8" in shown
    assert "left out: allocator tbbmalloc" in shown


def test_baseline_is_kept_where_nothing_is_gained() -> None:
    equal = samples.tune_result(20, truth=lambda c: 2.0 if c.layout.p == 8 else 4.0)
    assert headline.headline(equal).startswith("keep threads=8 allocator=system")
    assert "\n  ./solver -t 8\n" in re.sub(" +\n", "\n", printed(equal))


@pytest.mark.parametrize(("bound", "said"), [(0.5, "within 50% of the best"), (4.967, "")])
def test_a_bound_of_more_than_twice_is_not_said(bound: float, said: str) -> None:
    result = samples.RESULTS["failing tune"]()
    found = result.conclusion
    assert isinstance(found, Recommendation)
    candidates = tuple(replace(one, regret=Regret(0.0, bound, 12)) for one in found.candidates)
    again = replace(result, conclusion=replace(found, candidates=candidates), stop=Decision(None, "budget"))
    shown = headline.stop(again)
    assert said in shown and ("within" in shown) == bool(said) and headline.headline(again).startswith("not decided")


def test_excluded_candidates_say_why() -> None:
    shown = re.sub(r"\s+", " ", printed(samples.RESULTS["failing tune"](), 160))
    assert "killed by signal 139" in shown
    assert "bytes = 1.1x, not <= 1.02x baseline" in shown
    assert "subject to: bytes <= 1.02 * baseline" in shown


@pytest.mark.parametrize(("step", "word"), [(0.8, "1.25"), (1.25, "slower"), (1.0, "no difference shown")])
def test_verdicts(step: float, word: str) -> None:
    said = headline.headline(samples.compare_result(20, step=step, noise=0.004))
    assert word in said
    assert re.search(r" \[[\d.]+, [\d.]+\]", said)


def test_few_blocks_have_no_interval() -> None:
    shown = printed(samples.scan_result(5))
    assert "no 95% interval below 6 blocks" in shown
    assert re.search(r"\dx \[", shown) is None


def test_oversubscription_and_simulation_stand_beside_the_number() -> None:
    made = samples.records(
        samples.scan_experiment(),
        samples.amdahl(),
        12,
        origin="simulated",
        change=lambda c, block: {"oversubscribed": c.layout.p == 8},
    )
    shown = printed(samples.scan_result(made=made), 140)
    assert shown.count("oversubscribed") == 2, "in the first line, and in the row"
    assert shown.count("simulated") == 1 + 4


def test_noise_is_reported_with_and_without() -> None:
    noisy = Noise(steal=5.0)
    made = samples.records(
        samples.scan_experiment(), samples.amdahl(), 12, change=lambda c, block: {"noise": noisy} if block == 3 else {}
    )
    shown = printed(samples.scan_result(made=made), 140)
    assert "warning: noise: steal: the hypervisor took up to" in shown
    assert "without the noisy blocks: " in shown


def test_a_brief_answer_has_two_notes_and_counts_the_others() -> None:
    made = replace(samples.scan_result(), warnings=("long " * 60 + "end", *"abc"))
    short, whole = io.StringIO(), io.StringIO()
    Console(file=short, width=60).print(terminal.render(made, brief=True))
    Console(file=whole, width=60).print(terminal.render(made))
    assert "warning: a" in short.getvalue() and "2 more notes: -v" in short.getvalue()
    assert "warning: b" not in short.getvalue()
    assert whole.getvalue().count("long") == 60 and "warning: c" in whole.getvalue()


@pytest.mark.parametrize("name", ["scan", "tune", "compare"])
def test_a_brief_answer_is_one_screen(name: str) -> None:
    """Of 80 columns and 24 lines, whatever there is to warn of."""
    made = replace(samples.RESULTS[name](), warnings=tuple(f"warning {k} of twenty" for k in range(20)))
    shown = io.StringIO()
    Console(file=shown, width=80).print(terminal.render(made, brief=True))
    assert 5 < len(shown.getvalue().splitlines()) <= 24
    assert "more notes: -v" in shown.getvalue()


def test_a_metric_has_no_unit() -> None:
    experiment = samples.tune_experiment(response="metric:bytes", metrics={"bytes": "stdout-size"})
    made = samples.records(
        experiment, samples.amdahl(), 8, change=lambda c, b: {"metrics": {"bytes": 1e6 + c.layout.p}}
    )
    shown = printed(samples.result(experiment, made))
    assert "bytes" in shown and " ms" not in shown


def test_the_chart_has_its_points_where_they_belong() -> None:
    scan = samples.scan_result(20, noise=0.001).conclusion
    assert not isinstance(scan, tuple)
    lines = plot.scaling(scan, 72, ascii_only=True).splitlines()  # type: ignore[arg-type]
    area = [line.partition("|")[2] for line in lines[: plot.HEIGHT]]
    columns = sorted(line.index("*") for line in area if "*" in line)
    assert len(columns) == 4 and columns[0] == 0
    assert [b - a for a, b in itertools.pairwise(columns)] == pytest.approx([columns[-1] / 3] * 3, abs=1)
    assert area[0].rstrip().endswith(".") and area[0].rstrip(". ") == ""


@pytest.mark.parametrize(
    ("estimate", "low", "high", "said"),
    [
        (1.3142, 1.2733, 1.3581, "1.31x [1.27, 1.36]"),
        (1.3142, 1.3101, 1.3188, "1.314x [1.310, 1.319]"),
        (12.0, 8.0, 16.0, "12.00x [8.00, 16.00]"),
        (1.0, 1.0, 1.0, "1.00x"),
        (2.0, None, None, "2.00x"),
        (2.0, 1.5, float("inf"), "2.00x [1.50, inf]"),
        (float("nan"), None, None, "-"),
    ],
)
def test_digits_follow_the_interval(estimate: float, low: float | None, high: float | None, said: str) -> None:
    assert text.join(text.times(Interval(estimate, low, high, None, 8))) == said


@pytest.mark.parametrize(("estimate", "half"), [(1.0042, 0.1), (1.0042, 0.004), (1.0051, 0.1), (12.0, 4), (1.3, 0)])
def test_a_ratio_rounds_to_the_number_that_is_shown(estimate: float, half: float) -> None:
    """What is said to be faster, slower or equal follows from the rounded ratio."""
    ratio = Interval(estimate, estimate - half, estimate + half, None, 8)
    assert f"{round(estimate, digits := text.decimals(ratio)):.{digits}f}x" == text.times(ratio)[0]
    assert round(1.0042, text.decimals(Interval(1.0042, 0.9, 1.1, None, 8))) == 1


@pytest.mark.parametrize(
    ("value", "said"), [(1.234, "1.23 s"), (0.0841, "84.1 ms"), (12e-6, "12.0 us"), (100.0, "100 s"), (0.0, "0 us")]
)
def test_seconds(value: float, said: str) -> None:
    assert text.seconds(value) == said


def test_percentages_are_rounded_to_stay_true() -> None:
    assert text.at_most(0.02001) == "2.1%"
    assert text.at_most(0.02) == "2%"
    assert [text.percent(x) for x in (0.95, 0.018, 0.999)] == ["95%", "1.8%", "99.9%"]


@pytest.mark.parametrize(("confidence", "blocks"), [(0.95, 6), (0.99, 8), (0.9, 5)])
def test_fewest_blocks(confidence: float, blocks: int) -> None:
    assert stats.fewest_blocks(confidence) == blocks


def test_clean_leaves_nothing_to_obey() -> None:
    assert text.clean("a\x1b[2Jb\x1b]0;title\x07c\u202ed\r\n\te\ud800") == "abc\\u202ed  e\\ud800".replace("  ", "   ")


def test_a_result_without_stop_or_environment_is_shown() -> None:
    assert "12 blocks" in printed(replace(samples.RESULTS["scan"](), stop=None, environment={}))


def test_a_long_name_costs_no_column() -> None:
    short, long = (samples.compare_result(names=names) for names in (("a", "b"), (f"a {'x' * 70}", f"b {'y' * 70}")))
    heads = [next(line for line in printed(made, 100).splitlines() if "command" in line) for made in (short, long)]
    assert heads[0].split() == heads[1].split()


def test_a_time_without_scatter_has_three_digits() -> None:
    shown = [text.time(Interval(seconds, seconds, seconds, 0.95, 8)) for seconds in (5.5, 1.5625, 0.125, 20.0)]
    assert shown == [("5.50 s", ""), ("1.56 s", ""), ("125 ms", ""), ("20.0 s", "")]


@pytest.mark.parametrize(
    ("value", "said"),
    [(1008123.4, "1008123"), (9999.7, "10000"), (1234.5, "1234"), (12.345, "12.35"), (-54321.0, "-54321"),
     (0.0, "0"), (1.2345e9, "1.234e+09")],
)  # fmt: skip
def test_a_number_without_unit_is_in_full_before_the_point(value: float, said: str) -> None:
    assert text.number(Interval(value, None, None, None, 0)) == (said, "")
    assert text.number(Interval(value, value, value, 0.95, 8)) == (said, f"[{said}, {said}]")
