# SPDX-License-Identifier: Apache-2.0
"""`--gate auto`: its blocks and threshold from the noise passport, disturbed blocks made again, and what it decides."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corescale import passport
from corescale.api.gating import gated
from corescale.conclude import detectable, policy, stats
from corescale.conclude.conclusion import conclude
from corescale.declare import command_line
from corescale.declare.request import CompareRequest
from corescale.declare.stop import Stop
from corescale.errors import ExitCode, UsageError
from corescale.machine import Machine
from corescale.passport import Pairs, Passport
from corescale.records import Configuration, Noise
from support import edits, samples
from support.commands import corescale

SPREAD = 0.03
HERE = Machine.here()


def pairs(spread: float = SPREAD, count: int = 200) -> Pairs:
    return Pairs(np.random.default_rng(5).normal(0, spread, count).tolist(), 0.5, count + 10, 10)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The passport of this machine."""
    path = tmp_path / "noise.json"
    path.write_text(passport.text(Passport(HERE.fingerprint(), {"sentinel": pairs(), "./old": pairs(0.01)})))
    monkeypatch.setenv(passport.VARIABLE, str(path))
    return path


def asked(*gate: str, words: tuple[str, ...] = ("./a", "./b"), **options: Any) -> Any:
    request = CompareRequest(gate=list(gate), **options)
    return gated(partial(command_line.compare, request, words, HERE), request, words, HERE)


@pytest.mark.parametrize("blocks", [8, 9, 12])
def test_one_of_a_hundred_equal_gates_at_most_is_called_slower(blocks: int) -> None:
    """Exactly: by every choice of signs, which the random order within pairs makes equally likely."""
    sizes = np.random.default_rng(7).lognormal(size=blocks)
    signs = 1 - 2 * ((np.arange(2**blocks)[:, None] >> np.arange(blocks)) & 1)
    _, low, _ = stats.walsh_bounds(sizes * signs, stats.tail_count(blocks, (1 - detectable.CONFIDENCE) / 2))
    assert 0 < np.mean(low > 0) <= 0.01 / 2  # of two looks


@pytest.mark.parametrize("spells", [1.0, 2.0])
def test_nine_of_ten_slowdowns_of_the_named_size_are_shown(spells: float) -> None:
    """1,000 gates, each by a passport of its own, on a machine whose noise comes in spells of 25 pairs or does not."""
    drawn = np.random.default_rng(6)

    def noise(count: int) -> Any:
        loud = np.repeat(drawn.random(count // 25 + 2) < 0.3, 25)[:count]
        return drawn.normal(0, SPREAD, count) * np.where(loud, spells, 1.0)

    shown = []
    for _ in range(100):
        named = detectable.smallest(noise(800), 16)
        found = (stats.hodges_lehmann(noise(16) + np.log1p(named), detectable.CONFIDENCE) for _ in range(10))
        shown += [one.low is not None and one.low > 0 for one in found]
    assert np.mean(shown) >= 0.9


def test_a_machine_that_is_always_disturbed_takes_twice_the_blocks(file: Path) -> None:
    always = pairs()
    assert replace(always, disturbed=always.made).repeats == passport.MOST_REPEATS
    assert replace(always, disturbed=0).repeats == 1


def test_more_blocks_show_smaller_differences() -> None:
    sizes = [detectable.smallest(pairs().log_ratios, n) for n in (4, 8, 20, 80)]
    assert sizes[0] == np.inf and sizes[1] > sizes[2] > sizes[3] > 0
    assert detectable.needed(pairs(0.5).log_ratios, 0.001) is None
    alarms, gates = detectable.alarms(pairs().log_ratios, 10)
    assert gates == 20 and alarms <= 3


def test_the_passport_says_how_many_blocks_a_difference_takes(file: Path) -> None:
    declare, gates, said = asked("auto=3%")
    stop = declare(None).stop
    assert (
        stop.rule == "calm"
        and stop.max_blocks == 2 * stop.min_blocks
        and stop.confidence == 0.98
        and stop.reading_confidence == pytest.approx(0.99)
        and stop.width == 0.03
    )
    assert gates == {"time": 0.03} and f"{stop.min_blocks} undisturbed blocks" in said and "sentinel" in said
    own, _, told = asked("auto=3%", words=("./old", "./new"))
    assert own(None).stop.min_blocks < stop.min_blocks and "sentinel" not in told
    _, auto, _ = asked("auto")
    assert auto["time"] == pytest.approx(detectable.smallest(pairs().log_ratios, 40))


@pytest.mark.parametrize(
    ("gate", "options", "says"),
    [(("auto=0.01%",), {}, "cannot be shown here"), (("auto", "5%"), {}, "other gates"),
     (("auto",), {"runs": 9}, "-r"), (("auto=x",), {}, "is not a percentage"),
     (("auto",), {"max_runs": 4}, "-M 8"), (("auto",), {"confidence": "99.9%"}, "--confidence"),
     (("auto=5%",), {"min_runs": 30}, "-m")],
)  # fmt: skip
def test_what_cannot_be_is_refused(gate: tuple[str, ...], options: Any, says: str, file: Path) -> None:
    with pytest.raises(UsageError, match=says):
        asked(*gate, **options)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 9}', '{"format": 1, "machine": "x", "commands": {}}'])
def test_a_damaged_passport_is_refused_in_one_line(content: str, file: Path) -> None:
    file.write_text(content)
    with pytest.raises(UsageError, match="is not a noise passport") as error:
        asked("auto")
    assert "\n" not in str(error.value)


def test_an_edited_passport_is_used_or_refused(file: Path) -> None:
    """Every value in turn put to something else."""
    faults = []
    for what, text in edits.edited(passport.text(Passport(HERE.fingerprint(), {"sentinel": pairs(count=9)}))):
        file.write_text(text)
        try:
            asked("auto")
        except UsageError:
            continue
        except Exception as error:
            faults.append(f"{what}: {error!r}")
    assert not faults, "\n".join(faults)


def test_another_machines_passport_is_not_believed(file: Path) -> None:
    file.write_text(passport.text(Passport("other", {"sentinel": pairs()})))
    with pytest.raises(UsageError, match="another machine"):
        asked("auto")
    file.unlink()
    with pytest.raises(UsageError, match="has no noise passport; make it"):
        asked("auto")


def _of(step: float, blocks: int, disturbed: int = 0, noise: float = 0.015) -> Any:
    def change(c: Configuration, block: int) -> dict[str, Any]:
        return {"noise": Noise(steal=50.0)} if block < disturbed else {}

    result = samples.compare_result(blocks, step=step, change=change, noise=noise)
    stop = Stop(rule="calm", min_blocks=12, max_blocks=24, width=0.05, confidence=detectable.STATED)
    return result.experiment.model_copy(update={"stop": stop}), result.records


@pytest.mark.parametrize(
    ("blocks", "disturbed", "ends"), [(11, 0, False), (12, 0, True), (14, 3, False), (15, 3, True), (23, 23, False),
                                      (24, 24, True)]
)  # fmt: skip
def test_disturbed_blocks_are_made_again(blocks: int, disturbed: int, ends: bool) -> None:
    experiment, records = _of(1.0, blocks, disturbed)
    calm = policy.uniform(experiment)
    for record in records:
        calm.add(record)
    assert (calm.next_block() is None) == ends


def test_a_gate_that_decides_nothing_goes_on_to_its_second_look() -> None:
    """A slowdown by half of what is asked for, with noise beyond what was known: neither slower nor no slower."""
    experiment, records = _of(1.03, 24, noise=0.06)
    ends = []
    for until in (12, 20, 23, 24):
        calm = policy.uniform(experiment)
        for record in records:
            if record.block < until:
                calm.add(record)
        ends.append(calm.next_block() is None)
    assert ends == [False, False, False, True]


@pytest.mark.parametrize(("step", "verdict"), [(1.2, "failed"), (0.8, "passed"), (1.0, "passed"), (1.06, "failed")])
def test_a_gate_says_slower_or_no_slower_than_asked(step: float, verdict: str) -> None:
    experiment, records = _of(step, 15, 3)
    (found,) = conclude(records, experiment, {"time": 0.05}).conclusion  # type: ignore[misc]
    assert found.gate == verdict and found.ratio.n == 12


def test_by_real_processes_a_slower_command_fails(file: Path, tmp_path: Path) -> None:
    words = ("compare", "sleep 0.01", "sleep 0.05", "--gate", "auto=20%", "-q")
    done = corescale(*words, cwd=tmp_path, also={passport.VARIABLE: str(file)})
    assert done.returncode == ExitCode.REGRESSION, done.stderr
