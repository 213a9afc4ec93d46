"""Whatever is passed to a layer or a function of nn, an error of Weft's says whose argument is
wrong."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import nn

F, T = nn.functional, nn.data.transforms
ANYTHING: tuple[Any, ...] = (
    *(
        3,
        -1,
        2.5,
        float("nan"),
        10**400,
        True,
        None,
        "a",
        [],
        [1, 2],
        [[1, "a"]],
        {},
        object(),
        np.zeros((2, 2), object),
    ),
    *(
        np.zeros((2, 2)),
        wf.zeros(0),
        wf.zeros(2, 3),
        wf.zeros(2, 2, 2, 2, 2, 2),
        wf.tensor([True]),
        wf.arange(3),
    ),
    wf.zeros((2, 2, 4), dtype="int32"),
)
FITTING: dict[str, Any] = {
    **dict.fromkeys(
        [
            "kernel_size",
            "output_size",
            "threshold",
            "value",
            "upscale_factor",
            "downscale_factor",
            "axis",
        ],
        1,
    ),
    **{
        "num_layers": 1,
        "unflattened_size": (1, 2),
        "encoder_layer": nn.TransformerEncoderLayer(2, 2, 2),
        "decoder_layer": nn.TransformerDecoderLayer(2, 2, 2),
        "pad": (1, 1),
    },
}
SMALL = {  # of a Transformer and its layers, which are large by default
    "d_model": 2,
    "nhead": 2,
    "num_decoder_layers": 1,
    "dim_feedforward": 2,
    "custom_encoder": FITTING["encoder_layer"],
}
HEADS = {
    *nn.layers.__all__,
    *F.__all__,
    "Parameter",
    "flatten",
}  # a layer speaks for itself, or lets its function speak
LAYERS = [name for name in nn.layers.__all__ if name not in nn.layers.container.__all__]


def required(function: Callable[..., Any], otherwise: Callable[[], Any]) -> dict[str, Any]:
    """Arguments that fit well enough."""
    parameters = inspect.signature(function).parameters
    wanted = [
        p.name for p in parameters.values() if p.default is p.empty and p.kind < p.VAR_POSITIONAL
    ]
    small = {name: SMALL[name] for name in SMALL if name in parameters}
    return {name: FITTING.get(name, otherwise()) for name in wanted} | small


def calls(
    function: Callable[..., Any], given: dict[str, Any], step: int
) -> Iterator[Callable[[], Any]]:
    """With anything in the place of one argument: each value, or so many of all."""
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            for value in ANYTHING[i % step :: step]:
                yield lambda name=p.name, value=value: call(function, {**given, name: value})  # type: ignore[misc]


def call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Positional arguments by their places, as far as they are given in order."""
    parameters = inspect.signature(function).parameters
    places = [name for name in given if parameters[name].kind == inspect.Parameter.POSITIONAL_ONLY]
    return function(
        *(given[name] for name in places),
        **{name: x for name, x in given.items() if name not in places},
    )


def check(attempts: Iterator[Callable[[], Any]]) -> int:
    """How many were refused."""
    refused = 0
    for attempt in attempts:
        try:
            attempt()
        except wf.errors.WeftError as error:
            refused += 1
            head = str(error).replace(".", ":").split(":")[0]
            assert head in HEADS, f"whose error is this: {error}"
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-1:])
            raise AssertionError(f"{type(error).__name__} escapes: {error}\n{where}") from error
    return refused


STEP = pytest.mark.parametrize("step", [3, *rarely(1)])
# with the arguments of an encoder's layer
MADE_SLOWLY = ("Transformer", "TransformerDecoderLayer", "TransformerEncoderLayer")


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize(
    "name", [*(name for name in LAYERS if name not in MADE_SLOWLY), *rarely(*MADE_SLOWLY)]
)
@STEP
def test_what_a_layer_is_made_with(name: str, step: int) -> None:
    kind = getattr(nn, name)
    check(calls(kind, required(kind, lambda: 2), step))


@pytest.mark.thinned(to=25)
@pytest.mark.parametrize(
    "name",
    [*(name for name in LAYERS if name not in ("Identity", "Transformer")), *rarely("Transformer")],
)
@STEP
def test_what_a_layer_is_called_with(name: str, step: int) -> None:
    kind = getattr(nn, name)
    layer = kind(**required(kind, lambda: 2))
    assert check(calls(layer.forward, required(layer.forward, lambda: wf.ones(2, 2)), step))


@pytest.mark.thinned(to=45)
@pytest.mark.parametrize("name", F.__all__)
@STEP
def test_what_a_function_is_called_with(name: str, step: int) -> None:
    function = getattr(F, name)
    assert check(calls(function, required(function, lambda: wf.ones(2, 2)), step))


PATHS = ["mnist", "fashion_mnist", "sst2", "read_mnist", "read_idx", "read_tsv", "read_lines"]


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path(name: str) -> None:
    for value in (3, 2.5, [], {}, object(), b"a"):
        with pytest.raises(wf.errors.DTypeError, match="the path must be a str or a Path, not "):
            next(iter(getattr(nn.data, name)(value)))


@pytest.mark.parametrize(
    "transform",
    [T.ToTensor(), T.Normalize(0, 1), T.RandomHorizontalFlip(), T.RandomCrop(2)],
    ids=repr,
)
def test_what_is_no_image(transform: Any) -> None:
    for value in (None, 3, "a", [], [[1, "a"]], [1, [2]], {}, object(), wf.zeros(2)):
        for call in (transform, transform.batch):
            with pytest.raises(wf.errors.WeftError) as caught:
                call(value)
            assert str(caught.value).startswith(f"{type(transform).__name__}: ")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: nn.data.Subset("ab", [[0], [1, 2]]),
            "Subset: indices must be a sequence of integers",
        ),
        (lambda: nn.data.Subset("ab", [0])[1], "Subset: there is no row 1 in a data set of 1"),
        (lambda: nn.data.BucketBatchSampler([1, [2]], 1), "BucketBatchSampler: lengths"),  # type: ignore[list-item]
        (
            lambda: nn.data.read_glove("words.txt", 3),
            "read_glove: the vocabulary must be a Vocabulary, not 3",
        ),  # type: ignore[arg-type]
        (lambda: nn.Linear(2, 1).get_parameter([]), r"Linear has no parameter []"),  # type: ignore[arg-type]
        (lambda: nn.ModuleDict()[{}], "ModuleDict: there is no layer {}"),  # type: ignore[index]
        (
            lambda: nn.optim.Optimizer([wf.ones(1)], 3),
            "Optimizer: hyperparameters must be a dict, not 3",
        ),  # type: ignore[arg-type]
        (lambda: nn.CrossEntropyLoss(weight="a"), "CrossEntropyLoss: weight must be a Tensor"),
        (lambda: wf.compile([], updates=[3]), "compile: updates[0] must be a pair"),  # type: ignore[list-item]
    ],
)
def test_what_else_is_refused_by_name(call: Callable[[], object], text: str) -> None:
    with pytest.raises(wf.errors.WeftError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_the_line_is_that_of_the_call() -> None:
    layer = nn.Sequential(nn.Flatten(), nn.Linear(3, 1))
    with pytest.raises(
        wf.errors.ShapeError, match="linear: the last axis of x must be in_features=3"
    ) as caught:
        layer(wf.ones(2, 4))  # to blame
    frames = [
        frame
        for frame in traceback.extract_tb(caught.value.__traceback__)
        if frame.filename == __file__
    ]
    assert frames[-1].line == "layer(wf.ones(2, 4))  # to blame"
