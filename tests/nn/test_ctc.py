"""The CTC loss against a sum over all alignments, one by one; lengths, layouts, what cannot be, and
what is refused."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from nnref import Array, close, log_softmax, normal
from weft import nn
from weft.nn import functional as F

T, N, C = 5, 6, 3
LOGITS = normal(T, N, C)
TARGETS = np.array(
    [[1, 2], [1, 1], [2, 1], [2, 1], [1, -7], [9, 9]]
)  # what lies beyond a length is never read
INPUTS, LENGTHS = np.array([5, 5, 3, 1, 4, 3]), np.array([2, 2, 2, 2, 1, 0])


def by_alignments(logs: Array, target: list[int], blank: int) -> float:
    """-log of the probability of all label sequences that give the target without repetitions and
    blanks."""
    total = 0.0
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        if [label for label, _ in groupby(path) if label != blank] == target:
            total += np.exp(sum(logs[t, label] for t, label in enumerate(path)))
    return -np.log(total) if total else np.inf


def reference(blank: int) -> Array:
    logs = log_softmax(LOGITS)
    cases = zip(range(N), INPUTS, LENGTHS, strict=True)
    return np.array(
        [
            by_alignments(logs[:t, n], [(y + blank) % C for y in TARGETS[n, :s]], blank)
            for n, t, s in cases
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("blank", [2, *rarely(0)])
def test_every_alignment_counts(blank: int) -> None:
    expected, logs = reference(blank), wf.tensor(LOGITS).log_softmax()
    given = (TARGETS + blank) % C, INPUTS, LENGTHS, blank
    assert np.isinf(expected).sum() == 1  # two labels in one time
    close(F.ctc_loss(logs, *given, "none"), expected, 1e-9)
    kept = np.where(np.isinf(expected), 0.0, expected)
    close(F.ctc_loss(logs, *given, "sum", True), kept.sum(), 1e-9)
    close(F.ctc_loss(logs, *given, zero_infinity=True), (kept / LENGTHS.clip(1)).mean(), 1e-9)


@pytest.mark.slow
def test_layouts() -> None:
    logs, expected = wf.tensor(LOGITS).log_softmax(), reference(0)
    joined = np.concatenate([row[:n] for row, n in zip(TARGETS, LENGTHS, strict=True)])
    close(nn.CTCLoss(reduction="none")(logs, joined, INPUTS, wf.tensor(LENGTHS)), expected, 1e-9)
    close(F.ctc_loss(logs[:, 0], TARGETS[0], 5, 2, reduction="none"), expected[0], 1e-9)
    nothing = -log_softmax(LOGITS)[:, :, 0].sum(0)
    close(
        F.ctc_loss(logs, np.zeros((N, 0), int), [T] * N, [0] * N, reduction="none"), nothing, 1e-9
    )


def test_gradients() -> None:
    wf.check_grad(
        lambda x: F.ctc_loss(x.log_softmax(), TARGETS, INPUTS, LENGTHS, zero_infinity=True),
        wf.tensor(LOGITS),
        max_elements=8,
    )


@pytest.mark.slow
def test_what_cannot_be_has_no_gradient_and_what_is_certain_no_loss() -> None:
    logits = wf.tensor(LOGITS[:, 3:4], requires_grad=True)
    loss = F.ctc_loss(logits.log_softmax(), TARGETS[3:4], [1], [2])
    loss.backward()
    assert loss.item() == float("inf") and not logits.grad.numpy().any()
    sure = np.where(np.eye(C)[[1, 0, 2]], 0.0, -np.inf)[:, None]
    assert F.ctc_loss(wf.tensor(sure), [[1, 2]], [3], [2]).item() == 0.0
    assert F.ctc_loss(wf.tensor(sure), [[2, 1]], [3], [2]).item() == float("inf")


@pytest.mark.slow
def test_a_step_of_time_adds_two_kernels() -> None:
    def count(times: int) -> int:
        return len(
            wf.explain(
                F.ctc_loss(wf.randn(times, 2, 4).log_softmax(), [[1, 2]] * 2, [times] * 2, [2] * 2)
            ).kernels
        )

    assert count(3) - count(2) <= 2


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"log_probs": wf.zeros(4)}, wf.errors.ShapeError, r"log_probs are \(T, N, C\) or \(T, C\)"),
    ({"log_probs": wf.zeros(0, 2, 3)}, wf.errors.ShapeError, "with T above 0"),
    (
        {"log_probs": wf.zeros((4, 2, 3), dtype="int64")},
        wf.errors.DTypeError,
        "log_probs must be floats, not int64",
    ),
    ({"targets": wf.zeros((3, 2), dtype="int64")}, wf.errors.ShapeError, r"targets are \(N, S\)"),
    (
        {"targets": [1, 2, 1]},
        wf.errors.ShapeError,
        r"3 targets do not make sequences of lengths \[1, 1\]",
    ),
    ({"targets": wf.ones(2, 1)}, wf.errors.DTypeError, "expected integer indices, got float32"),
    ({"input_lengths": [4]}, wf.errors.ShapeError, "one length for each of 2 sequences"),
    ({"blank": 3}, wf.errors.ArgumentError, r"blank=3 is not a label in 0 \.\. 2"),
    ({"reduction": "max"}, wf.errors.ArgumentError, "reduction must be 'mean', 'sum' or 'none'"),
]


@pytest.mark.parametrize(("given", "kind", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_what_is_refused(given: dict[str, Any], kind: type[Exception], says: str) -> None:
    fitting = {
        "log_probs": wf.zeros(4, 2, 3),
        "targets": [[1], [2]],
        "input_lengths": [4, 4],
        "target_lengths": [1, 1],
    }
    with pytest.raises(kind, match=f"ctc_loss: .*{says}"):
        F.ctc_loss(**fitting | given)


def test_a_label_out_of_range_raises_when_it_is_computed() -> None:
    with pytest.raises(IndexError, match="3"):
        F.ctc_loss(wf.zeros(4, 1, 3), [[3]], [4], [1]).item()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(("times", "labels"), [(5, 1), (-1, 1), (4, 2), (4, -1)])
def test_a_length_out_of_range_raises_when_it_is_computed(
    times: int, labels: int, jitted: bool
) -> None:
    def loss(times: wf.Tensor, labels: wf.Tensor) -> wf.Tensor:
        return F.ctc_loss(wf.zeros(4, 2, 3).log_softmax(), [[1], [2]], times, labels)

    call = wf.jit(loss) if jitted else loss
    assert call(wf.tensor([0, 4]), wf.tensor([0, 1])).item() > 0.0
    with pytest.raises(IndexError, match="out of range"):
        call(wf.tensor([4, times]), wf.tensor([1, labels])).item()
