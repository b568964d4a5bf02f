# SPDX-License-Identifier: Apache-2.0
"""JSON that somebody hands in: what is no value of a text, and what is no file that ends."""

import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from corescale import documents


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[1e999]", "1e999 is not a finite number"),
        ("NaN", "NaN is not a finite number"),
        ('{"a": -Infinity}', "-Infinity is not"),
        ("{", "Expecting"),
        (b"\xff", "codec"),
        ("", "Expecting"),
    ],
)
def test_what_is_no_document_is_one_kind_of_error_with_a_reason(text: str | bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        documents.value(text)


def test_infinity_passes_where_programs_print_it() -> None:
    assert documents.value('{"a": Infinity, "b": 1.5}', finite=False) == {"a": float("inf"), "b": 1.5}
    with pytest.raises(ValueError, match="nested too deeply"):
        documents.value("[" * 100_000, finite=False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "recursion"),
        ('{"a": "1"}', "^a: "),
        ('{"a": true}', "^a: "),
        ('{"a": 1.5}', "^a: "),
        ("[]", "should be"),
        ("{", "json"),
    ],
)
def test_a_value_of_another_type_is_named_and_not_converted(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        documents.typed(TypeAdapter(dict[str, int]), text)


def test_a_pipe_and_a_device_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="is not a regular file"):
            documents.content(path)
