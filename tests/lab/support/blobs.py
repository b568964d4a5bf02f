# SPDX-License-Identifier: Apache-2.0
"""A source whose blobs cannot be compressed, and so take a while to write."""

import random
from collections.abc import Mapping

from corescale.observe.scratch import Scratch
from corescale.observe.sources import Found, Source

SIZE = 60_000
"""bytes, of which compressing and syncing take some milliseconds: random kills hit them now and then"""


def environment(scratch: Scratch) -> Mapping[str, str]:
    return {"BLOBS": str(scratch.of("blobs"))}


def read(scratch: Scratch) -> Found:
    """Two blobs of this launch, and one that is the same every time."""
    seed = str(scratch.folder)
    own = {name: random.Random(seed + name).randbytes(SIZE) for name in ("timeline", "stacks")}
    return Found(blobs={**own, "same": b"same" * 1000})


SOURCE = Source("blobs", lambda _: True, environment, read)
