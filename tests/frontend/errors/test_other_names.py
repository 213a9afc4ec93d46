"""Names of other libraries that Weft has not: the error says what to write, and that exists;
misspelt ones get the nearest."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import re
from collections.abc import Iterator
from operator import attrgetter
from types import ModuleType
from typing import Any

import pytest
import weft as wf
from weft import nn
from weft.frontend.tensor.names_elsewhere import ABSENT, OF_MODULES, OF_TENSORS, OF_WEFT
from weft.frontend.tensor.parameters_elsewhere import RENAMED, WITHOUT


def test_a_method_that_a_tensor_has_not_names_what_it_has() -> None:
    for name, advice in OF_TENSORS.items():
        text = f"'Tensor' object has no attribute {name!r}; write {advice}"
        with pytest.raises(AttributeError, match=re.escape(text)):
            getattr(wf.ones(2), name)


def test_a_function_that_weft_has_not_names_what_it_has() -> None:
    for name, advice in OF_WEFT.items():
        text = f"module 'weft' has no attribute {name!r}; write {advice}"
        with pytest.raises(AttributeError, match=re.escape(text)):
            getattr(wf, name)


TEXTS = {
    *OF_TENSORS.values(),
    *OF_WEFT.values(),
    *OF_MODULES.values(),
    *ABSENT.values(),
    *WITHOUT.values(),
}


def test_what_an_error_advises_exists() -> None:
    roots = {"wf": wf, "x": wf.ones(2), "nn": nn, "module": nn.ReLU()}
    for text in TEXTS:
        for root, path in re.findall(r"\b(wf|x|nn|module)\.([a-zA-Z][\w.]*)", text):
            attrgetter(path)(roots[root])


def test_no_name_that_is_there_is_said_to_be_absent() -> None:
    assert (
        [name for name in OF_WEFT if name in dir(wf)]
        == []
        == [name for name in OF_TENSORS if hasattr(wf.Tensor, name)]
    )
    spaces = [wf, nn, nn.functional, wf.Tensor]
    assert [name for name in ABSENT if any(name in dir(space) for space in spaces)] == []


MODULES = [
    wf,
    wf.cuda,
    nn,
    nn.amp,
    nn.data,
    nn.data.transforms,
    nn.functional,
    nn.init,
    nn.optim,
    nn.optim.lr_scheduler,
]
MODULES += [nn.parallel, nn.utils]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_misspelt_name_of_a_module_is_answered_with_the_nearest(module: ModuleType) -> None:
    name = max(module.__all__, key=len)
    with pytest.raises(
        AttributeError, match=f"has no attribute '{name[:-3]}{name[-2:]}'; did you mean '{name}'\\?"
    ):
        getattr(module, name[:-3] + name[-2:])
    assert not hasattr(module, "__nothing__")


def test_a_property_that_fails_says_why() -> None:
    class Net(nn.Module):
        @property
        def width(self) -> Any:
            return self.layer.width

    with pytest.raises(AttributeError, match="'Net' object has no attribute 'layer'"):
        Net().width  # noqa: B018


# ---------------------------------------------------------------- parameters


def callables() -> Iterator[tuple[Any, list[Any]]]:
    """Each public function, method and layer, with what its parameters begin with."""
    x = wf.ones(2, 2)
    for module in (wf, nn.functional, nn.init, nn.utils, nn.data):
        yield from ((getattr(module, name), [x]) for name in module.__all__)
    yield from ((getattr(x, name), []) for name in dir(wf.Tensor) if not name.startswith("_"))
    yield from ((getattr(nn, name), []) for name in (*nn.layers.__all__, "functional_call"))


def test_what_has_an_axis_answers_dim() -> None:
    """Whatever takes a parameter under another name than other libraries give it says so."""
    answered = 0
    for function, first in callables():
        try:
            there = {
                p.name
                for p in inspect.signature(function).parameters.values()
                if p.kind is not p.VAR_POSITIONAL
            }
        except (TypeError, ValueError):
            continue
        for foreign, ours in RENAMED.items():
            here = [name for name in ours if name in there]
            if here and foreign not in there and foreign != "input":
                with pytest.raises(TypeError) as caught:
                    function(*first, **{foreign: 0})
                assert f"{foreign}= is called {here[0]}= here" in getattr(
                    caught.value, "__notes__", []
                )
                answered += 1
    assert answered > 150


class Own(nn.Module):
    def __init__(self, dim: int, **others: Any) -> None:
        super().__init__()
        self.dim, self.others = dim, others


def with_seed(init: Any) -> Any:
    """A decorator of users that takes an argument of its own."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, seed: int = 0, **kwargs: Any) -> None:
        init(self, *args, **kwargs)

    return call


class Decorated(nn.Module):
    @with_seed
    def __init__(self, width: int) -> None:
        super().__init__()


class Bare(nn.Module):
    pass


def test_a_module_of_users_takes_what_it_says() -> None:
    made = Own(dim=3, inplace=True)
    assert (made.dim, made.others) == (3, {"inplace": True})
    assert isinstance(Decorated(3, seed=1), Decorated)
    assert isinstance(pickle.loads(pickle.dumps(copy.deepcopy(Bare()))), Bare)
    for call, text in (
        (lambda: Bare(3), r"Bare\(\) takes no positional arguments, not 1"),
        (lambda: Bare(x=3), "argument 'x'"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    assert str(inspect.signature(nn.ReLU)) == "() -> 'None'"


def test_a_method_that_changes_a_tensor_names_the_operators() -> None:
    with pytest.raises(
        AttributeError, match=r"'Parameter' object has no attribute 'add_'; write x \+= y, "
    ):
        nn.Parameter([1.0]).add_(1)  # type: ignore[attr-defined]


def test_a_name_that_nobody_has_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'sun'$"):
        wf.ones(2).sun()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'weft' has no attribute 'sun'$"):
        wf.sun  # noqa: B018


@pytest.mark.parametrize("make", [nn.Parameter, nn.Buffer])
def test_data_cannot_be_set_without_effect(make: type) -> None:
    t = make([1.0, 2.0])
    with pytest.raises(
        AttributeError, match=rf"{make.__name__}.data is not set: write x.assign\(y\)"
    ):
        t.data = wf.zeros(2)
    assert (
        t.tolist()
        == copy.deepcopy(t).tolist()
        == pickle.loads(pickle.dumps(t)).tolist()
        == [1.0, 2.0]
    )
