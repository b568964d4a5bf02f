# SPDX-License-Identifier: Apache-2.0
"""A placeholder of the command: `-f size=1,2 -- ./program {size}`."""

from typing import ClassVar

from corescale.declare.factors.kind import Kind


class Parameter(Kind):
    """Fills the placeholder that the factor is named after."""

    named: ClassVar = False

    def keyword(self, name: str) -> bool:
        return False
