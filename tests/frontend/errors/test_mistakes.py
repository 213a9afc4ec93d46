"""Mistakes as users make them: the class of the error, and that it or its notes say what to
write."""

from __future__ import annotations

import traceback
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn

E = wf.errors
TYPE, ATTRIBUTE = TypeError, E.AttributeError

MISTAKES: list[tuple[str, type[Exception], str]] = [
    # names of other libraries
    ("wf.solve(x, x)", ATTRIBUTE, "it is wf.linalg.solve"),
    ("wf.linalg.eigs(x)", ATTRIBUTE, "did you mean 'eig'"),
    ("x.inverse()", ATTRIBUTE, "it is wf.linalg.inv"),
    ("wf.rfft", ATTRIBUTE, "it is wf.fft.rfft"),
    ("wf.array([1])", ATTRIBUTE, "write wf.tensor(data)"),
    ("wf.set_num_threads(2)", ATTRIBUTE, "write WEFT_NUM_THREADS=n in the environment"),
    ("wf.cat([x, x])", ATTRIBUTE, "write wf.concat([x, y], axis)"),
    ("wf.arcsin(x)", ATTRIBUTE, "write wf.asin(x)"),
    ("wf.random.rand(3)", ATTRIBUTE, "write wf.rand(*shape), wf.randn, wf.randint or wf.choice"),
    ("wf.autograd.grad", ATTRIBUTE, "write wf.grad(loss, x)"),
    ("wf.device('cpu')", ATTRIBUTE, "a text, one of wf.devices()"),
    ("wf.save(x, 'file')", ATTRIBUTE, "write wf.nn.save(path, model=model)"),
    ("wf.lax.scan(f, x)", ATTRIBUTE, "write wf.scan"),
    ("x.add_(1)", ATTRIBUTE, "write x += y, x[key] = y or x.assign(y)"),
    ("x.mul(2)", ATTRIBUTE, "write x * y"),
    ("x.size()", TYPE, "'int' object is not callable"),
    ("x.numel()", ATTRIBUTE, "write x.size"),
    ("x.dim()", ATTRIBUTE, "write x.ndim"),
    ("x.copy()", ATTRIBUTE, "write x.clone()"),
    ("x.at[0].set(1)", ATTRIBUTE, "write x[key] = y"),
    ("x.block_until_ready()", ATTRIBUTE, "write x.realize()"),
    ("x.masked_select(x > 0)", ATTRIBUTE, "write x[mask]"),
    ("x.unfold(0, 2, 1)", ATTRIBUTE, "write wf.window(x, axis, size, stride)"),
    ("x.type(wf.float64)", ATTRIBUTE, "write x.to(dtype)"),
    ("net.device", ATTRIBUTE, "write next(module.parameters()).device"),
    ("net.compile()", ATTRIBUTE, "write wf.jit(module)"),
    # misspelt names
    ("wf.softmx(x)", ATTRIBUTE, "module 'weft' has no attribute 'softmx'; did you mean 'softmax'?"),
    ("wf.Zeros(3)", ATTRIBUTE, "did you mean 'zeros'?"),
    ("wf.mean_(x)", ATTRIBUTE, "did you mean 'mean'?"),
    ("x.sofmax()", ATTRIBUTE, "'Tensor' object has no attribute 'sofmax'; did you mean 'softmax'?"),
    ("x.reqires_grad", ATTRIBUTE, "did you mean 'requires_grad'?"),
    (
        "nn.Liner(2, 3)",
        ATTRIBUTE,
        "module 'weft.nn' has no attribute 'Liner'; did you mean 'Linear'?",
    ),
    ("nn.relu(x)", ATTRIBUTE, "did you mean 'ReLU'?"),
    ("nn.functional.reluu(x)", ATTRIBUTE, "did you mean 'relu'?"),
    ("nn.optim.ADAM([p])", ATTRIBUTE, "did you mean 'Adam'?"),
    ("nn.optim.lr_scheduler.StepLr", ATTRIBUTE, "did you mean 'StepLR'?"),
    ("nn.data.Dataloader([1])", ATTRIBUTE, "did you mean 'DataLoader'?"),
    ("nn.data.transforms.Normalise(0, 1)", ATTRIBUTE, "did you mean 'Normalize'?"),
    ("nn.init.kaiming_unifrom(p)", ATTRIBUTE, "did you mean 'kaiming_uniform'?"),
    ("nn.utils.clip_grad_norm([p], 1.0)", ATTRIBUTE, "did you mean 'clip_grad_norm_'?"),
    ("nn.parallel.allreduce(x)", ATTRIBUTE, "did you mean 'all_reduce'?"),
    ("nn.amp.autocst", ATTRIBUTE, "did you mean 'autocast'?"),
    ("wf.cuda.is_availble()", ATTRIBUTE, "did you mean 'is_available'?"),
    ("wf.op", ATTRIBUTE, "module 'weft' has no attribute 'op'"),
    ("net.wieght", ATTRIBUTE, "'Linear' object has no attribute 'wieght'; did you mean 'weight'?"),
    ("net.load_statedict({})", ATTRIBUTE, "did you mean 'load_state_dict'?"),
    # arguments of other libraries
    ("nn.Softmax(dim=1)", TYPE, "dim= is called axis= here"),
    ("nn.ReLU(inplace=True)", TYPE, "there is no inplace=: values never change"),
    ("nn.ReLU(True)", TYPE, "there is no inplace=: values never change"),
    ("nn.LeakyReLU(0.1, inplace=True)", TYPE, "there is no inplace="),
    ("nn.Flatten(start_dim=1)", TYPE, "start_dim= is called start_axis= here"),
    (
        "nn.Linear(2, 2, device='cpu')",
        TYPE,
        "there is no device=: write .to(device) after the call",
    ),
    (
        "nn.Linear(2, 2, dtype=wf.float64)",
        TYPE,
        "there is no dtype=: write .to(dtype) after the call",
    ),
    ("nn.Linear(2, 2, biass=True)", TYPE, "Linear() got an unexpected keyword argument 'biass'"),
    (
        "nn.MSELoss(size_average=False)",
        TYPE,
        'there is no size_average=: reduction="mean", "sum" or "none"',
    ),
    ("nn.functional.mse_loss(x, x, reduce=False)", TYPE, "there is no reduce=: reduction="),
    ("nn.functional.softmax(x, dim=1)", TYPE, "dim= is called axis= here"),
    ("nn.functional.relu(x, inplace=True)", TYPE, "there is no inplace="),
    (
        "nn.data.DataLoader([1], num_workers=4)",
        TYPE,
        "there is no num_workers=: a thread fetches ahead, as many batches as",
    ),
    (
        "nn.data.DataLoader([1], pin_memory=True)",
        TYPE,
        "there is no pin_memory=: device= puts batches",
    ),
    (
        "nn.optim.Adam([p], fused=True)",
        TYPE,
        "there is no fused=: a step is compiled into one program",
    ),
    ("nn.optim.SGD([p], learning_rate=0.1)", TYPE, "learning_rate= is called lr= here"),
    (
        "wf.grad((p * p).sum(), p, create_graph=True)",
        TYPE,
        "there is no create_graph=: what wf.grad gives can be differentiated",
    ),
    (
        "wf.grad((p * p).sum(), p, retain_graph=True)",
        TYPE,
        "there is no retain_graph=: wf.grad keeps the history",
    ),
    ("(p * p).sum().backward(create_graph=True)", TYPE, "what backward() collects cannot"),
    ("x.var(unbiased=True)", TYPE, "unbiased=True is correction=1"),
    ("wf.std(x, ddof=1)", TYPE, "ddof= is called correction= here"),
    ("x.sum(dim=1)", TYPE, "dim= is called axis= here"),
    ("wf.max(x, axis=1, keepdim=True)", TYPE, "keepdim= is called keepdims= here"),
    ("x.permute(dims=(1, 0))", TYPE, "dims= is called axes= here"),
    ("x.transpose(dims=(1, 0))", TYPE, "axes are given without a name"),
    ("wf.sum(x, out=x)", TYPE, "there is no out=: give what is returned a name"),
    ("wf.sum(x, axs=1)", TYPE, "axis"),
    # NumPy's functions
    ("np.linalg.tensorsolve(x, x)", E.CallError, "write np.linalg.tensorsolve(x.numpy()"),
    ("np.sum(x, where=x > 0)", E.CallError, "wf.sum, which has no where="),
    # the truth of many
    ("1 if x > 0 else 0", E.ShapeError, "write x.all() or x.any()"),
    ("x in [x + 1, x]", E.ShapeError, "wf.allclose(x, y) for x == y"),
    ("(x > 1) and (x < 3)", E.ShapeError, "& for `and`, | for `or`"),
    ("not x", E.ShapeError, "a Tensor of shape (4, 3) has no single truth value"),
    ("max(x[0], x[1])", E.ShapeError, "has no single truth value"),
    (
        "float(x)",
        E.ShapeError,
        "only a single element converts to a Python number, this has shape (4, 3); x.tolist()",
    ),
    ("range(x)", E.DTypeError, "only an integer can be an index, this is float32"),
    # data
    ("wf.tensor([[1, 2], [3]])", E.ShapeError, "tensor: the nested lists are not of equal lengths"),
    ("wf.tensor(['a'])", E.DTypeError, "tensor: element 'a' is no number"),
    ("wf.tensor([1, None])", E.DTypeError, "tensor: element None is no number"),
    ("wf.tensor([[1.0], [{}]])", E.DTypeError, "tensor: element {} is no number"),
    ("wf.tensor('abc')", E.DTypeError, "tensor: 'abc' is no number"),
    ("wf.tensor(None)", E.DTypeError, "tensor: None is no number"),
    ("wf.tensor({1, 2})", E.DTypeError, "tensor: {1, 2} is no number"),
    ("wf.tensor([1j], dtype=wf.float32)", E.DTypeError, "take the real part"),
    ("wf.tensor(np.array(['a']))", E.DTypeError, "no dtype for elements of type <U1"),
    (
        "wf.add(x, ['a'])",
        E.DTypeError,
        "add: b must be a Tensor, an array or a number, not ['a']: element 'a' is no number",
    ),
    (
        "wf.Tensor([1, 2, 3])",
        E.CallError,
        "Tensor is not a constructor: write wf.tensor([1, 2, 3])",
    ),
    ("wf.zeros(3.0)", E.DTypeError, "zeros: a shape must consist of ints, not 3.0"),
    ("wf.randn((2, '3'))", E.DTypeError, "randn: a shape must consist of ints, not '3'"),
    ("x.reshape(2.0, 6)", E.DTypeError, "reshape: a shape must consist of ints, not 2.0"),
    ("wf.ones(2, dtype='float8')", E.DTypeError, "there is no dtype 'float8'; there are bool"),
    ("wf.ones(2, device='gpu')", E.DeviceError, "device 'gpu': there is cpu"),
    # shapes and indices
    ("x + wf.ones(2, 2)", E.ShapeError, "axis -2 is 4 and 2"),
    ("x @ x", E.ShapeError, "3 columns, 4 rows"),
    ("x.reshape(5, 5)", E.ShapeError, "12 elements of shape (4, 3) do not fit"),
    ("x.sum(2)", E.AxisError, "axis 2 is out of range for 2 axes"),
    ("x[7]", E.IndexError, "index 7 is out of range for axis 0 of extent 4"),
    ("x['a']", E.DTypeError, "neither an int"),
    ("wf.concat(x, x)", E.DTypeError, "concat"),
    ("nn.Linear(5, 2)(x)", E.ShapeError, "must be in_features=5"),
    ("nn.CrossEntropyLoss()(x, wf.tensor([0, 9, 0, 0])).item()", E.IndexError, "index 9"),
    # gradients
    ("x.sum().backward()", E.GradientError, "does not depend on anything that requires a gradient"),
    (
        "twice()",
        E.GradientError,
        "to differentiate a gradient, take wf.grad(loss, x) in the place of x.grad",
    ),
    ("(p * 2).backward()", E.GradientError, "sum it up, or give its cotangent"),
    ("p.__iadd__(1)", E.GradientError, "do it inside wf.no_grad()"),
    ("wf.arange(3).requires_grad_()", E.DTypeError, "only floats have gradients, this is int64"),
    # jit
    ("wf.jit(lambda y, k: y + wf.zeros(k))(x, 3)", E.JitError, "the value of argument 'k' is read"),
    ("wf.jit(lambda y, k: y + wf.zeros(k))(x, 3)", E.JitError, "@wf.jit(static_argnames='k')"),
    (
        "wf.jit(lambda y, *, k: y if k[1] > 2 else -y)(x, k=[x, 3])",
        E.JitError,
        "@wf.jit(static_argnames='k')",
    ),
    ("wf.jit(lambda *ys: ys[0].reshape(ys[1], -1))(x, 6)", E.JitError, "@wf.jit(static_argnums=1)"),
    (
        "wf.jit(lambda y, k: wf.zeros((y.sum() * k).int()))(x, 3)",
        E.JitError,
        "wf.where for a choice",
    ),
    ("wf.jit(lambda y: y.numpy())(x)", E.JitError, "return the value and read it outside"),
    # layers and files
    (
        "nn.Sequential(nn.Flatten(), nn.Linear(5, 1))(x)",
        E.ShapeError,
        "in layer 1 of Sequential: Linear",
    ),
    (
        "nested(x)",
        E.ShapeError,
        "in layer out of Sequential: Linear\nin layer 1 of Sequential: Sequential",
    ),
    ("nn.Sequential([nn.ReLU()])", E.DTypeError, "give them one by one, *layers"),
    ("net.load_state_dict({'weigth': x})", E.StateError, "missing weight, bias; unexpected weigth"),
    ("nn.optim.SGD(net, lr=0.1)", E.WeftError, "parameters()"),
    (
        "nn.save('file', net)",
        E.CallError,
        "save: objects are passed by name, as in save(path, model=model)",
    ),
    (
        "nn.load(folder / 'torch.pt')",
        nn.CheckpointError,
        "this is a zip file, as torch.save and np.savez write",
    ),
    ("nn.load(folder / 'old.pt')", nn.CheckpointError, "this is a pickle"),
    ("nn.load(folder / 'a.npy')", nn.CheckpointError, "this is an array, as np.save writes"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("files")
    with zipfile.ZipFile(found / "torch.pt", "w") as file:
        file.writestr("archive/data.pkl", "")
    (found / "old.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    np.save(found / "a.npy", np.ones(3))
    return found


def twice() -> None:
    y = wf.tensor([1.0, 2.0], requires_grad=True)
    (y * y).sum().backward()
    assert y.grad is not None
    y.grad.sum().backward()


@pytest.mark.thinned(to=25)
@pytest.mark.parametrize(("code", "kind", "text"), MISTAKES)
def test_a_mistake_is_answered(code: str, kind: type[Exception], text: str, folder: Path) -> None:
    p = wf.tensor([1.0, 2.0], requires_grad=True)
    names = {
        "wf": wf,
        "nn": nn,
        "np": np,
        "x": wf.rand(4, 3),
        "p": p,
        "net": nn.Linear(3, 2),
        "f": abs,
    }
    names |= {
        "nested": nn.Sequential(nn.ReLU(), nn.Sequential({"out": nn.Linear(5, 1)})),
        "twice": twice,
        "folder": folder,
    }
    with pytest.raises(kind) as caught:
        eval(code, names)
    assert text in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    shown = [
        f.f_code.co_name for f in frames if is_weft_s(f) and not f.f_locals.get("__tracebackhide__")
    ]
    assert shown == [], "pytest and IPython would show these frames"


def is_weft_s(frame: Any) -> bool:
    return str(frame.f_globals.get("__package__")).partition(".")[0] == "weft"
