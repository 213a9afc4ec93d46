"""Numbers as people read them."""

from __future__ import annotations

import pytest
from weft.wording import amount, binary, duration, plural


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (61.0, "61 s"), (1.0, "1 s"), (0.0314, "31.4 ms"), (9.996e-4, "1 ms"), (2.5e-6, "2.5 us"),
        (9.999e-7, "1 us"),
        (1e-7, "100 ns"), (3.2e-9, "3.2 ns"), (0.0, "0 ns"), (None, ""),
    ],
)  # fmt: skip
def test_durations_have_three_digits_and_a_unit(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_a_plural_is_of_all_counts_but_one() -> None:
    assert [plural(count, "task") for count in (0, 1, 2)] == ["0 tasks", "1 task", "2 tasks"]


def test_amounts_have_a_prefix_of_their_unit() -> None:
    assert [amount(n) for n in (0, 999, 1500, 2e6, 3.25e9, 5e12)] == [
        "0 ",
        "999 ",
        "1.5 k",
        "2 M",
        "3.25 G",
        "5e+03 G",
    ]


def test_sizes_as_they_are_built_are_powers_of_two() -> None:
    assert [binary(n) for n in (512, 48 << 10, 32 << 20)] == ["512 bytes", "48 KiB", "32 MiB"]
