# SPDX-License-Identifier: Apache-2.0
"""The result, from which every output is made: the experiment, its records and the conclusion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from corescale.conclude.answers.recommendation import Recommendation
from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.conclusion import Concluded
from corescale.conclude.stats import Interval, fewest_blocks
from corescale.declare.experiment import Experiment
from corescale.records import Configuration, Record, origins
from corescale.show import text


@dataclass(frozen=True)
class Result(Concluded):
    """One finished run. `lines`: for each launched configuration, the line to paste into a shell."""

    experiment: Experiment
    records: Sequence[Record]
    lines: Mapping[Configuration, str]
    environment: Mapping[str, Any] = field(default_factory=dict)
    """the description of the machine and its software that is stored with the run, as JSON values"""
    run: str = ""
    """a sentence on whether the records are new, continue others or are shown again; or empty"""
    launching: tuple[str, ...] = ()
    """the options that select the launcher, if it is used only on request"""
    runs: Mapping[str, Path] = field(default_factory=dict)
    """the folders or archives of the records, by name; a page contains them"""

    @cached_property
    def timed(self) -> tuple[Record, ...]:
        """Every launch, except warm-ups and rehearsals."""
        return tuple(record for record in self.records if record.timed)

    @cached_property
    def _launches(self) -> Mapping[Configuration, Sequence[Record]]:
        found: dict[Configuration, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.configuration, []).append(record)
        return found

    @cached_property
    def blocks(self) -> int:
        """Complete measuring blocks."""
        return len({record.block for record in self.records if record.phase == "measure"})

    @cached_property
    def confirmations(self) -> int:
        """Confirmation pairs of the winner against the baseline."""
        return len({record.block for record in self.records if record.phase == "confirm"})

    @cached_property
    def confidence(self) -> float:
        """Confidence of every interval that does not state its own."""
        return self.experiment.stop.confidence

    @cached_property
    def fewest_blocks(self) -> int:
        """Least number of blocks for an interval; simultaneous comparisons need more."""
        found = self.conclusion if isinstance(self.conclusion, tuple) else ()
        return max((fewest_blocks(one.confidence) for one in found), default=fewest_blocks(self.confidence))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The programs and libraries that changed while they were measured, on any machine of the run."""
        parts = (self.environment, *(of for of in self.environment.values() if isinstance(of, Mapping)))
        return tuple(sorted({str(name) for part in parts for name in part.get("changed", ())}))

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """The origins of numbers that were not measured, which are printed next to each number."""
        return origins(self.records)

    @cached_property
    def ratios(self) -> tuple[str, Mapping[Configuration, Interval]]:
        """The name of the verb's paired ratio, and its value for every configuration that has one."""
        found = self.conclusion.found if isinstance(self.conclusion, Study) else self.conclusion
        if isinstance(found, Scan):
            return "Speedup", {row.configuration: row.speedup for row in found.rows}
        if isinstance(found, Recommendation):
            ratio = text.of_response("T(baseline) / T", self.experiment.response)
            return ratio, {candidate.configuration: candidate.ratio for candidate in found.candidates}
        ratio = text.of_response("T / T(reference)", self.experiment.response)
        return ratio, {one.other: one.ratio for one in found}

    def named(self, name: str, configuration: Configuration) -> str:
        """The name, with the origins of its numbers if they were not measured and the name does not say so. It is for
        files of other tools, which have no field for that."""
        unsaid = [origin for origin in origins(self._launches.get(configuration, ())) if f"({origin}" not in name]
        return f"{name} ({', '.join(unsaid)})" if unsaid else name

    def line(self, configuration: Configuration) -> str:
        """The line to paste."""
        return self.lines.get(configuration, configuration.label)

    def qualifiers(self, configuration: Configuration) -> tuple[str, ...]:
        """`fake`, `simulated`, `oversubscribed`: the labels that numbers of this configuration must have."""
        found = self._launches.get(configuration, ())
        asked = ("oversubscribed",) if any(record.oversubscribed for record in found) else ()
        return (*origins(found), *asked)
