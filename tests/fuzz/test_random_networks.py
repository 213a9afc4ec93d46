"""Random networks train alike lazily, jitted and interpreted. `python tests/kit/fuzz_networks.py
200` trains many."""

from __future__ import annotations

import pytest
from effort import rarely
from fuzz_networks import compare


@pytest.mark.parametrize("seed", [0, *rarely(*range(1, 8))])
def test_random_networks_train_alike(seed: int) -> None:
    compare(seed)
