# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one kind: figures that were taken in different ways are not compared."""

from collections import Counter
from collections.abc import Sequence

from corescale.records import Record


def kind(records: Sequence[Record]) -> str:
    """The kind that most launches have: the others are left out."""
    return next((of for of, _ in Counter(record.peak_memory_kind for record in records).most_common(1)), "none")


def warning(records: Sequence[Record]) -> list[str]:
    """One line where some launches' figures are left out."""
    wanted = kind(records)
    others = Counter(record.peak_memory_kind for record in records if record.peak_memory_kind not in (wanted, "none"))
    if not others:
        return []
    left = sum(others.values())
    of = f"{left} of {len(records)} launches"
    return [f"peak memory leaves out {of}, whose figures are of another kind: {', '.join(others)}, not {wanted}"]
