# SPDX-License-Identifier: Apache-2.0
"""The base of everything that is declared."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Immutable, and strict about names: a misspelt key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
