"""The tables of docs/science.md are those of the calls that the tests make."""

from __future__ import annotations

import pytest
from science_calls import Client
from science_page import CLIENTS, PAGE, TABLE, written


def test_the_page_says_what_the_tests_know() -> None:
    page = PAGE.read_text()
    assert page == written(page), "python tests/kit/science_page.py writes the tables anew"
    assert {m[2] for m in TABLE.finditer(page)} == CLIENTS.keys()


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_a_reason_is_that_of_a_call(client: Client) -> None:
    assert client.waits.keys() <= client.calls.keys()
