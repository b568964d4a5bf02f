# SPDX-License-Identifier: Apache-2.0
"""What a person reads from `tune`: nothing is said that was not measured, and what is said twice is said alike."""

import dataclasses
import importlib.abc
import io
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from corescale import cli
from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.conclusion import conclude
from corescale.conclude.policy import Uniform
from corescale.conclude.race.race import Race
from corescale.conclude.stats import Interval
from corescale.declare import command_line
from corescale.declare.grid import baseline
from corescale.declare.request import TuneRequest
from corescale.declare.stop import Stop
from corescale.endings import ending
from corescale.errors import ExitCode
from corescale.records import Noise, Record, Status
from corescale.show import charts, html, interim, terminal
from support import samples
from support.commands import corescale
from support.play import MACHINE, play
from support.play import race_truth as truth
from support.play import race_tuning as tuning

NOISY = 'noise = {kind = "lognormal", size = 0.1}\n[times]\nMODE = {a = 1.0, b = 1.0, c = 1.05, d = 1.1}\n'
FAKE = ["--on", "fake", "--landscape", "l.toml", "-q"]


def tuned(tmp_path: Path, *words: str, code: ExitCode = ExitCode.OK) -> str:
    """What it said, with this exit code, or that of what is not decided, and nothing on stderr."""
    (tmp_path / "l.toml").write_text(NOISY)
    done = corescale("tune", *FAKE, *words, "--baseline", "threads=1,MODE=a", "--", "x", cwd=tmp_path)
    expected = ExitCode.INCONCLUSIVE if done.stdout.startswith("not decided") else code
    assert (done.returncode, done.stderr) == (expected, "")
    assert done.stdout.strip()
    return done.stdout


def test_a_budget_too_small_to_compare_anything_is_no_reason_to_keep_baselines(tmp_path: Path) -> None:
    said = tuned(tmp_path, "-t", "1", "-f", "MODE=a,b,c,d", "--budget", "2x", code=ExitCode.INCONCLUSIVE)
    assert said.startswith("no answer: the budget ended before anything was compared with threads=1 MODE=a (fake)")
    assert "larger --budget" in said and "nothing that was tried is faster" not in said


def test_a_budget_for_one_block_gives_a_first_answer(tmp_path: Path) -> None:
    """Confirmation is not kept room for before there is something to confirm."""
    said = tuned(tmp_path, "-t", "1", "-f", "MODE=a,b,c,d", "--budget", "5x", code=ExitCode.INCONCLUSIVE)
    assert said.startswith("not decided: ")
    assert "1 block, 4 launches" in said


def test_one_configuration_alone_is_kept_because_there_is_no_other(tmp_path: Path) -> None:
    said = tuned(tmp_path, "-t", "1", "-f", "MODE=a")
    assert said.startswith("keep threads=1 MODE=a: there is nothing else to try (fake)\n")
    assert "0 blocks, 1 launch\n" in said and "-f NAME=a,b" in said


def test_what_is_not_decided_says_how_near_it_is_once_and_last(tmp_path: Path) -> None:
    """A bound of the launch to use, also where the race's candidate was not confirmed. Each budget has its own run."""
    near = 0
    for budget in range(100, 200, 10):
        (folder := tmp_path / str(budget)).mkdir()
        said = tuned(folder, "-t", "1", "-f", "MODE=a,b,c,d", "--budget", f"{budget}x")
        if said.startswith("not decided"):
            said = " ".join(said.split())
            ends = re.findall(
                r"; budget spent: threads=1 MODE=\w is within [\d.]+% of the best at 95%, 2% wanted", said
            )
            assert said.count("of the best at") == len(ends) <= 1
            near += len(ends)
    assert near >= 2, "of ten budgets too few ended with a bound"


def two_minds(measured: Sequence[Record]) -> list[Record]:
    """Half of the blocks, flagged as noisy, speak for b and the others for c; b was confirmed."""
    factor = {"a": (1.0, 1.0), "b": (0.5, 0.9), "c": (0.8, 0.8)}
    noise = Noise(steal=1.0)
    return [
        dataclasses.replace(
            r,
            wall=r.wall * factor[str(r.configuration["mode"])][r.block % 2],
            noise=noise if r.block % 2 == 0 and r.phase == "measure" else Noise(),
        )
        for r in measured
    ]


def test_without_the_noisy_blocks_the_launch_that_was_confirmed_is_judged_again() -> None:
    """Not another one, of which it would say that nothing confirmed it."""
    request = TuneRequest(threads="1", factor=["mode=a,b,c"])
    experiment = command_line.tune(request, ["x {mode}"], MACHINE)
    sixteen = experiment.model_copy(update={"stop": Stop(rule="replicates", min_blocks=16, max_blocks=16)})
    made = play(experiment, lambda _: 1.0, Uniform(sixteen), noise=0.001)
    measured = [r for r in made if r.phase == "measure"]
    b = next(r.configuration for r in measured if r.configuration["mode"] == "b")
    template = [r for r in measured if r.block < 10]
    confirmations = [
        dataclasses.replace(r, phase="confirm", block=r.block + 16)
        for r in template
        if r.configuration in (b, baseline(experiment))
    ]
    records = two_minds([*measured, *confirmations])
    result = conclude(records, experiment)
    assert isinstance(result.conclusion, Recommendation) and result.conclusion.winner == b
    assert isinstance(result.undisturbed, Recommendation) and result.undisturbed.winner == b
    assert result.undisturbed.gain is not None


def test_what_is_known_so_far_names_the_gain_and_whether_it_is_confirmed() -> None:
    experiment = tuning(budget="none")
    records = play(experiment, truth, Race(experiment), noise=0.02)
    measured = [r for r in records if r.phase == "measure"]
    assert re.search(
        r" leads, about [\d.]+x faster than threads=4 block=1 mode=a, not confirmed, within ",
        interim.known(measured, experiment),
    )
    assert re.search(
        r" leads, [\d.]+x \[.*\] faster than threads=4 block=1 mode=a by 6 confirmation pairs, within",
        interim.known(records, experiment),
    )
    first = [dataclasses.replace(r, phase="warmup") for r in records[:1]]
    assert interim.known(first, experiment) == "", "nothing leads before anything was compared"


def test_a_leader_that_is_slower_in_its_pairs_does_not_lead() -> None:
    experiment = tuning(budget="none")
    records = play(experiment, truth, Race(experiment), noise=0.02)
    leader = Race.of(records, experiment).answer().leader
    slower = [dataclasses.replace(r, wall=3 * r.wall) if (r.phase, r.configuration) == ("confirm", leader) else r
              for r in records]  # fmt: skip
    assert re.search(
        r" looked fastest, but is [\d.]+x \[.*\] slower than threads=4 block=1 mode=a by 6 confirmation pairs, .*"
        "nothing is proved yet",
        interim.known(slower, experiment),
    )


def test_an_interim_answer_names_no_threads_that_the_program_does_not_read() -> None:
    request = TuneRequest(threads="1,2", factor=["mode=a,b"], budget="none")
    experiment = command_line.tune(request, ["x {mode}"], MACHINE)
    made = play(experiment, lambda c: 1.0 + (c["mode"] == "a"), Race(experiment), noise=0.02)
    unread = [dataclasses.replace(r, reads=()) for r in made]
    assert "threads=" not in interim.known(unread, experiment).partition(" leads")[0]
    assert "threads=" in interim.known(made, experiment).partition(" leads")[0]


@pytest.mark.parametrize(
    ("ratio", "says"), [(1.25, "1.25x [1.00, 1.56] faster"), (0.8, "1.25x [1.00, 1.56] slower"), (1.0, "1.00x")]
)
def test_what_takes_longer_is_slower(ratio: float, says: str) -> None:
    ends = (1 / 1.25, 1.25)
    assert interim.versus(Interval(ratio, ratio * ends[0], ratio * ends[1], 0.95, 8), "wall").startswith(says)


def test_a_name_in_the_narrow_table_tells_which_level_is_whose() -> None:
    console = Console(width=60, record=True, no_color=True, file=io.StringIO())
    console.print(terminal.render(samples.tune_result()))
    assert re.search(r"\n threads=8 .*\n allocator=mimalloc .*\n use this", console.export_text())


def test_ctrl_c_while_corescale_is_being_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "corescale.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "corescale.cli.app", raising=False)
    monkeypatch.delattr(cli, "app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_that_a_scan_suggests_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "l.toml").write_text(NOISY)
    words = ["-t", "1,2", "-f", "MODE=a,b,c,d", "-r", "6", "--", "x", "{MODE}"]
    done = corescale("scan", *FAKE, *words, cwd=tmp_path)
    suggested = shlex.split(" ".join(done.stdout.split()).partition("next: corescale ")[2].replace("FILE", "l.toml"))
    again = corescale(*suggested, "--budget", "20x", cwd=tmp_path) if suggested else done
    assert suggested[0] == "tune" and again.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE), again.stderr
    assert again.stdout.startswith("not decided") == (again.returncode == ExitCode.INCONCLUSIVE)


def test_a_response_that_no_launch_gives_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "l.toml").write_text(NOISY)
    asked = ["-t", "1", "-f", "MODE=a,b", "--baseline", "MODE=a", "--response", "metric:bites"]
    done = corescale("tune", *FAKE, *asked, "--", "x", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.splitlines()[-1].startswith("corescale: metric:bites: no launch gave it; ")


def test_a_rehearsal_in_which_the_baseline_fails_is_told_and_everything_is_raced(
    tmp_path: Path, python: Callable[[str], str]
) -> None:
    program = python("import sys, time\nif 'small' in sys.argv: sys.exit('no such option: small')\ntime.sleep(0.02)")
    words = ["-t", "1", "-L", "mode", "a,b", "--budget", "12x", "--rehearse", "small", "-q"]
    done = corescale("tune", *words, "--", program, "{mode}", cwd=tmp_path)
    assert done.returncode in (ExitCode.OK, ExitCode.INCONCLUSIVE) and done.stderr == ""
    said = " ".join(done.stdout.split())
    assert "rehearsal: all 2 are raced, as the baseline failed with exit code 1: no such option: small" in said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("signal", "was killed by SIGSEGV: oh"),
        ("output-differs", "wrote another output than the first launch of all (--same-output)"),
        ("timeout", "did not end, and was killed after 1 s: oh"),
        ("failed", "failed with exit code -11: oh"),
    ],
)
def test_why_one_may_not_win_is_said_in_words(status: Status, said: str) -> None:
    experiment = tuning(budget="none")
    template = play(experiment, truth, Race(experiment), noise=0.02)[0]
    assert ending(dataclasses.replace(template, status=status, wall=1.0, exit_code=-11, tail="x\noh\n")) == said


def test_a_rehearsal_that_leaves_nothing_out_does_not_narrow_the_claim(tmp_path: Path) -> None:
    words = ["-t", "1", "-f", "MODE=a,b,c,d", "--rehearse", "small", "--within", "20%"]
    said = tuned(tmp_path, *words)
    first = said.partition("\n\n")[0]
    assert "at 95%" in first and "raced" not in first


def test_of_a_large_grid_the_terminal_shows_the_head_and_the_baseline(tmp_path: Path) -> None:
    levels = ",".join(str(k) for k in range(40))
    times = "\n".join(f"{k} = {1 + (0 if k == 7 else 0.5 if k == 0 else 0.02 * k)}" for k in range(40))
    (tmp_path / "l.toml").write_text(f"noise = {{size = 0.01}}\n[times.SIZE]\n{times}\n")
    done = corescale(
        "tune", *FAKE, "-t", "1", "-f", f"SIZE={levels}", "--baseline", "threads=1,SIZE=0", "--", "x", cwd=tmp_path
    )
    assert done.returncode == ExitCode.OK
    rows = [line for line in done.stdout.splitlines() if re.match(r" 1 +\d+ ", line)]
    assert len(rows) == 13
    assert "use this" in rows[0] and "baseline" in rows[-1]
    assert "27 more configurations: --report FILE or --json has them all" in done.stdout


def test_the_report_of_a_tune_shows_the_ratios_before_the_scaling() -> None:
    result = samples.tune_result()
    names = [chart.name for chart in charts.of(result, html.curves_of(result))]
    assert names[0] == "forest" and "scaling" in names


def test_the_report_of_a_large_grid_draws_its_fastest_and_tells_lost_from_failed(tmp_path: Path) -> None:
    levels = [str(k) for k in range(60)]
    times = "\n".join(f"{k} = {1 if k == 7 else 1.5 if k == 0 else 1.02 + 0.05 * k}" for k in range(60))
    (tmp_path / "l.toml").write_text(f"noise = {{size = 0.01}}\n[times.SIZE]\n{times}\n")
    words = ["-t", "1", "--budget", "30m", "-f", f"SIZE={','.join(levels)}", "--report", "r.html"]
    words += ["--baseline", "threads=1,SIZE=0", "--", "x"]
    assert corescale("tune", *FAKE, *words, cwd=tmp_path).returncode == ExitCode.OK
    page = (tmp_path / "r.html").read_text()
    assert 'id="chart-forest"' in page and "more are in the table" in page
    assert re.search(r"failed launches</dt><dd>0<small>of \d+; \d+ capped", page)


def test_what_no_number_of_blocks_decides_is_not_forecast(tmp_path: Path) -> None:
    """An output in steps of 1: half a step is more than the difference of 1 and 2, however many blocks there are."""
    program = tmp_path / "counts"
    program.write_text('#!/bin/sh\necho "{\\"v\\": $1}"\n')
    program.chmod(0o755)
    words = ["-q", "-f", "n=2,1", "-t", "1", "--budget", "60x", "--metric", "v=output:v", "--response", "metric:v"]
    done = corescale("tune", *words, "--", "./counts", "{n}", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE, done.stdout
    said = " ".join(done.stdout.split())
    assert "; more blocks cannot decide it, as v is reported in steps of 1" in said and "would decide" not in said
    assert said.endswith("next: let the program report v in smaller steps")
    assert " 60 launches" not in said, "it does not go on in vain"


def test_a_slower_launch_is_not_said_to_be_tied(tmp_path: Path) -> None:
    """Two blocks do not show it, though the table has 0.6x."""
    (tmp_path / "l.toml").write_text("seed = 1\n[times]\nMODE = {a = 1.0, b = 1.6}\n[noise]\nsize = 0.1\n")
    done = corescale("tune", *FAKE, "-t", "1", "-f", "MODE=a,b", "--budget", "5x", "--", "x", "{MODE}", cwd=tmp_path)
    assert re.search("^not shown to be slower: threads=1 MODE=b", done.stdout, re.MULTILINE), done.stdout
    assert "tied" not in done.stdout
