# SPDX-License-Identifier: Apache-2.0
"""The first line of an answer is short."""

from collections.abc import Callable

import pytest

from corescale.show.headline import headline
from corescale.show.result import Result
from support import samples


@pytest.mark.parametrize("made", [samples.scan_result, samples.weak_result, samples.tune_result, samples.failing_tune])
def test_a_first_line_has_at_most_25_words(made: Callable[[], Result]) -> None:
    assert 4 < len(headline(made()).split()) <= 25
