"""Names of PyTorch that Weft has not: the error says what to write, and that exists."""

from __future__ import annotations

import copy
import pickle
import re
from operator import attrgetter

import pytest
import weft as wf
from weft import nn
from weft.frontend.other_names import OF_TENSORS, OF_WEFT


@pytest.mark.parametrize("name", OF_TENSORS)
def test_a_method_that_a_tensor_has_not_names_what_it_has(name: str) -> None:
    text = f"'Tensor' object has no attribute {name!r}; write {OF_TENSORS[name]}"
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(wf.ones(2), name)


@pytest.mark.parametrize("name", OF_WEFT)
def test_a_function_that_weft_has_not_names_what_it_has(name: str) -> None:
    text = f"module 'weft' has no attribute {name!r}; write {OF_WEFT[name]}"
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(wf, name)


@pytest.mark.parametrize("text", sorted({*OF_TENSORS.values(), *OF_WEFT.values()}))
def test_what_an_error_advises_exists(text: str) -> None:
    for root, path in re.findall(r"\b(wf|x)\.([a-z][\w.]*)", text):
        attrgetter(path)(wf if root == "wf" else wf.ones(2))


def test_a_method_that_changes_a_tensor_names_the_operators() -> None:
    with pytest.raises(AttributeError, match=r"'Parameter' object has no attribute 'add_'; write x \+= y, "):
        nn.Parameter([1.0]).add_(1)  # type: ignore[attr-defined]


def test_a_name_that_nobody_has_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'sun'$"):
        wf.ones(2).sun()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'weft' has no attribute 'sun'$"):
        wf.sun  # noqa: B018


@pytest.mark.parametrize("make", [nn.Parameter, nn.Buffer])
def test_data_cannot_be_set_without_effect(make: type) -> None:
    t = make([1.0, 2.0])
    with pytest.raises(AttributeError, match=rf"{make.__name__}.data is not set: write x.assign\(y\)"):
        t.data = wf.zeros(2)
    assert t.tolist() == copy.deepcopy(t).tolist() == pickle.loads(pickle.dumps(t)).tolist() == [1.0, 2.0]
