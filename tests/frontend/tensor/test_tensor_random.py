"""Random Tensors: known answers of Philox, determinism, distributions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from commandkit import python, script
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from project_root import ROOT
from weft.frontend.functions import philox
from weft.frontend.tensor import random
from weft.frontend.tensor.tensor import wrap
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import const

ONES = 0xFFFFFFFF
# kat_vectors of Random123 1.14: philox4x32 10
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: tuple, key: tuple, expected: tuple) -> None:
    words = philox.philox(
        tuple(const(c, dt.uint64) for c in counter), tuple(const(k, dt.uint64) for k in key)
    )
    assert tuple(wrap(w).item() for w in words) == expected


def reference(count: int, key: int, draw: int) -> np.ndarray:
    """The four words of each element, in Python integers."""
    rows = []
    for e in range(count):
        c, k = [e & ONES, e >> 32, draw & ONES, draw >> 32], [key & ONES, key >> 32]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(q >> 32) ^ c[1] ^ k[0], q & ONES, (p >> 32) ^ c[3] ^ k[1], p & ONES]
            k = [(k[0] + 0x9E3779B9) & ONES, (k[1] + 0xBB67AE85) & ONES]
        rows.append(c)
    return np.array(rows, "uint64")


def test_uniforms_are_a_function_of_key_draw_and_position() -> None:
    wf.manual_seed((5 << 32) + 7)
    first, second = wf.rand(9), wf.rand(3, 3, dtype="float64")
    words = reference(9, (5 << 32) + 7, 0)
    assert (
        first.numpy().tolist()
        == ((words[:, 0] >> np.uint64(8)).astype("float64") * 2.0**-24).tolist()
    )
    words = reference(9, (5 << 32) + 7, 1)
    bits = (words[:, 0] | (words[:, 1] << np.uint64(32))) >> np.uint64(11)
    assert second.numpy().ravel().tolist() == (bits.astype("float64") * 2.0**-53).tolist()


def test_seeding_repeats_and_draws_differ() -> None:
    wf.manual_seed(3)
    a, b = wf.rand(5), wf.rand(5)
    a2 = a.numpy().copy()
    wf.manual_seed(3)
    assert wf.rand(5).tolist() == a2.tolist() != b.tolist()
    assert a.tolist() == a2.tolist()  # a Tensor does not change


def test_drawing_again_compiles_nothing() -> None:
    from weft.frontend.lazy.program_table import statistics

    wf.rand(7).realize()
    built = statistics["built"]
    for seed in range(3):
        wf.manual_seed(seed)
        (wf.rand(7)).realize()
        wf.rand(7).realize()
    assert statistics["built"] == built


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments(dtype: str) -> None:
    wf.manual_seed(0)
    n = 40_000
    u, z = (
        wf.rand(n, dtype=dtype).numpy().astype("float64"),
        wf.randn(n, dtype=dtype).numpy().astype("float64"),
    )
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / n) and abs(u.var() - 1 / 12) < 2e-3
    assert (
        abs(z.mean()) < 4 / np.sqrt(n)
        and abs(z.var() - 1) < 4 * np.sqrt(2 / n)
        and abs((z**3).mean()) < 0.08
    )
    assert abs((z**4).mean() - 3) < 0.2 and np.isfinite(z).all() and 3.5 < np.abs(z).max() < 6.5
    counts = np.histogram(u, 20, (0, 1))[0]
    assert ((counts - n / 20) ** 2 / (n / 20)).sum() < 50


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("low", "high"), [(0, 6), (-3, 4), (0, 1 << 40), (5, 6)])
def test_whole_numbers(low: int, high: int) -> None:
    wf.manual_seed(1)
    x = wf.randint(low, high, (6000,)).numpy()
    assert x.dtype == np.int64 and low <= x.min() and x.max() < high
    assert abs(x.mean() - (low + high - 1) / 2) <= 4 * (high - low) / np.sqrt(12 * 6000)
    assert wf.randint(4, shape=3, dtype="uint8").dtype is wf.uint8


@examples(30)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4), st.integers(1, 2**64))
def test_whole_numbers_are_the_high_part_of_a_product(words: list[int], count: int) -> None:
    nodes = [wf.tensor([w], dtype=wf.uint64).node for w in words]
    bits = 64 if count < 2**32 else 128
    drawn = sum(w << 32 * i for i, w in enumerate(words)) % 2**bits
    if count < 2**64:
        assert wrap(random._below(nodes, count)).item() == drawn * count >> bits


@pytest.mark.slow
def test_large_ranges_are_unbiased() -> None:
    wf.manual_seed(0)
    thirds = np.bincount(wf.randint(0, 3 * 2**61, 30_000).numpy() >> 61, minlength=3)
    assert abs(thirds - 10_000).max() < 400  # five standard deviations
    wide = wf.randint(-(2**63), 2**63, 1000).numpy()
    assert wide.min() < -(2**62) and wide.max() > 2**62


def test_uniform_and_normal_take_their_parameters() -> None:
    wf.manual_seed(0)
    u, z = wf.uniform(2.0, 3.0, (5000,)).numpy(), wf.normal(10.0, 0.1, (5000,)).numpy()
    assert u.min() >= 2 and u.max() <= 3 and abs(z.mean() - 10) < 0.01 and abs(z.std() - 0.1) < 0.01


@pytest.mark.parametrize("jitted", [False, True], ids=["lazy", "jit"])
def test_the_generator_goes_on_from_a_state(jitted: bool) -> None:
    def draw() -> wf.Tensor:
        return wf.rand(3)

    f = wf.jit(draw) if jitted else draw
    wf.manual_seed(11)
    f().numpy()
    state = json.loads(json.dumps(wf.get_rng_state()))
    expected = [f().tolist() for _ in range(3)]
    wf.manual_seed(12)
    f().numpy()
    wf.set_rng_state(state)
    assert [f().tolist() for _ in range(3)] == expected and wf.get_rng_state() == {
        "seed": 11,
        "draws": 4,
    }


@pytest.mark.slow
def test_processes_draw_alike_unless_their_tasks_are_seeded(tmp_path: Path) -> None:
    """As the reference says: its example, and the same without the line that seeds, in which each
    task has a new process."""
    page = ROOT / "docs" / "reference" / "creation.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    found = []
    plain = code.replace("    wf.manual_seed(task)\n", "")
    unseeded = plain.replace("range(4)", "range(4), 1").replace("Pool(2", "Pool(2, None, (), 1")
    for text in (code, unseeded):
        done = python(tmp_path, script(tmp_path, text))
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    expected = []
    for task in range(4):
        wf.manual_seed(task)
        expected.append(wf.rand(1000).mean().item())
    assert found[0] == expected and len(set(expected)) == 4 and len(set(found[1])) == 1


def test_a_wrong_state_of_the_generator_is_refused_and_changes_nothing() -> None:
    wf.manual_seed(3)
    before = wf.get_rng_state()
    wrong = [
        None,
        {},
        {"seed": 1},
        {"seed": -1, "draws": 0},
        {"seed": 0, "draws": 1 << 64},
        {"seed": 1, "draws": 0, "more": 1},
    ]
    for state in wrong:
        with pytest.raises(wf.errors.ArgumentError, match="set_rng_state"):
            wf.set_rng_state(state)
    with pytest.raises(
        wf.errors.DTypeError, match=r"set_rng_state: draws must be an int, not 0\.5"
    ):
        wf.set_rng_state({"seed": 1, "draws": 0.5})
    for f in (wf.get_rng_state, lambda: wf.set_rng_state(before)):
        with pytest.raises(
            wf.errors.JitError,
            match=r"in the jitted function .* would happen only while it is traced",
        ):
            wf.jit(f)()
    assert wf.get_rng_state() == before
