"""Checkpoints: what is saved comes back, whole or not at all; training goes on from one as if it
had not stopped."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from safetensors import numpy as files
from weft import nn

DTYPES = ["bool", "int8", "int64", "uint16", "uint64", "float16", "bfloat16", "float32", "float64"]


class Holder:
    """Anything with a state."""

    def __init__(self, state: Any = None) -> None:
        self.state = state

    def state_dict(self) -> Any:
        return self.state

    def load_state_dict(self, state: Any) -> None:
        if state == "refused":
            self.state = "half loaded"
            raise ValueError("this is no state of mine")
        self.state = state


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # to wait for the disk would test nothing
    return tmp_path / "run.safetensors"


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def values(module: nn.Module) -> dict[str, Any]:
    return {name: t.tolist() for name, t in module.state_dict().items()}


def trained() -> tuple[nn.Module, nn.optim.Optimizer]:
    net = network()
    optimizer = nn.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (net(wf.rand(5, 3)) ** 2).sum().backward()
        optimizer.step()
    return net, optimizer


# ---------------------------------------------------------------- what comes back


def test_a_model_its_optimiser_and_values_come_back(path: Path) -> None:
    net, optimizer = trained()
    assert (
        nn.save(path, model=net, optimizer=optimizer, epoch=3, history=[0.5, 0.25], note=None)
        is None
    )
    twin, other = trained()
    rest = nn.load(path, model=twin, optimizer=other)
    assert rest == {"epoch": 3, "history": [0.5, 0.25], "note": None}
    assert values(twin) == values(net) and other.steps == [2, 2, 2, 2]
    for ours, theirs in zip(other.state, optimizer.state, strict=True):
        assert {k: t.tolist() for k, t in ours.items()} == {
            k: t.tolist() for k, t in theirs.items()
        }


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype_come_back_bit_for_bit(path: Path, dtype: str) -> None:
    given = {
        "matrix": wf.tensor(np.random.default_rng(0).uniform(0, 100, (3, 4))).astype(dtype),
        "scalar": wf.tensor(1).astype(dtype),
        "empty": wf.zeros(0, 3, dtype=dtype),
        "transposed": wf.arange(6).reshape(2, 3).astype(dtype).realize().T,
        "part": wf.arange(9).astype(dtype).realize()[1::3],
    }
    nn.save(path, **given)
    found = nn.load(path)
    assert list(found) == list(given)
    for name, t in given.items():
        assert found[name].dtype is t.dtype and found[name].shape == t.shape
        assert found[name].tolist() == t.tolist()


def test_special_values_come_back(path: Path) -> None:
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 0x00000001], np.uint32)
    nn.save(path, x=wf.tensor(bits.view(np.float32)), y=[float("inf"), float("nan"), 1e-320, 2**70])
    found = nn.load(path)
    assert found["x"].numpy().view(np.uint32).tolist() == bits.tolist()
    assert str(found["y"]) == str([float("inf"), float("nan"), 1e-320, 2**70])


def test_nested_state_keeps_its_form(path: Path) -> None:
    state = {
        "groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1]}],
        "state": {0: {"step": 3, "mean": wf.ones(2)}, 1: {"mean": wf.zeros(())}},
        "$tensor": "not one",
        "none": [None, True, "text", (), {}],
        "numbers": (np.float64(0.1), np.int32(3), np.bool_(True), np.float32(0.5)),
    }
    holder = Holder()
    nn.save(path, own=Holder(state))
    nn.load(path, own=holder)
    tensors = [holder.state["state"][0].pop("mean"), holder.state["state"][1].pop("mean")]
    assert [t.tolist() for t in tensors] == [[1.0, 1.0], 0.0]
    assert holder.state == state | {
        "state": {0: {"step": 3}, 1: {}},
        "numbers": (0.1, 3, True, 0.5),
    }
    assert type(holder.state["groups"][0]["betas"]) is tuple


def test_objects_that_are_not_asked_for_come_back_as_their_state(path: Path) -> None:
    net = network()
    nn.save(path, model=net, other=Holder({"a": 1}))
    found = nn.load(path)
    assert found["other"] == {"a": 1}
    twin = network()
    twin.load_state_dict(found["model"])
    assert values(twin) == values(net)


def test_a_tensor_is_loaded_in_place(path: Path) -> None:
    target = nn.Parameter(wf.zeros(3, dtype="float64"))
    nn.save(path, weight=wf.tensor([1.0, 2.0, 3.0]))
    assert nn.load(path, weight=target) == {}
    assert (
        target.tolist() == [1.0, 2.0, 3.0] and target.dtype is wf.float64 and target.requires_grad
    )


def test_names_that_meet_are_told_apart(path: Path) -> None:
    nn.save(path, a=Holder({"b.c": wf.zeros(1), "b": {"c": wf.ones(1)}}))
    found = nn.load(path)["a"]
    assert found["b.c"].tolist() == [0.0] and found["b"]["c"].tolist() == [1.0]


def test_pending_values_and_buffers_are_computed(path: Path) -> None:
    net = nn.Sequential(nn.BatchNorm1d(2))
    net(wf.rand(4, 2))
    lazy = wf.ones(2) * 3
    nn.save(path, model=net, lazy=lazy)
    twin = nn.Sequential(nn.BatchNorm1d(2))
    assert nn.load(path, model=twin)["lazy"].tolist() == [3.0, 3.0]
    assert twin[0].num_batches_tracked.item() == 1 and values(twin) == values(net)


def test_a_saved_value_is_that_of_the_moment(path: Path) -> None:
    net, optimizer = trained()
    expected = values(net)
    nn.save(path, model=net)
    net(wf.ones(1, 3)).sum().backward()
    optimizer.step()
    twin = network()
    nn.load(path, model=twin)
    assert values(twin) == expected != values(net)


def test_the_generator_goes_on(path: Path) -> None:
    wf.manual_seed(5)
    wf.rand(3).numpy()
    nn.save(path)
    expected = wf.rand(3).tolist()
    wf.manual_seed(6)
    before = wf.get_rng_state()
    nn.load(path, random_state=False)
    assert wf.get_rng_state() == before
    assert nn.load(path) == {} and wf.rand(3).tolist() == expected


# ---------------------------------------------------------------- other libraries


def test_other_readers_find_dotted_names(path: Path) -> None:
    net, optimizer = trained()
    nn.save(path, model=net, optimizer=optimizer, epoch=1)
    found = files.load_file(path)
    assert {"model.0.weight", "model.2.bias", "optimizer.state.0.exp_avg"} <= set(found) and len(
        found
    ) == 12
    np.testing.assert_array_equal(found["model.0.weight"], net[0].weight.numpy())


def test_a_file_of_another_library_is_a_dict_of_tensors(path: Path) -> None:
    net = network()
    arrays = {name: np.array(t.numpy()) + 1 for name, t in net.state_dict().items()}
    files.save_file(arrays, path, metadata={"format": "pt"})
    before = wf.get_rng_state()
    net.load_state_dict(nn.load(path))
    np.testing.assert_array_equal(net[0].weight.numpy(), arrays["0.weight"])
    files.save_file(
        {f"net.{name}": a * 2 for name, a in arrays.items()} | {"mean": np.ones(2)}, path
    )
    assert list(nn.load(path, net=net)) == ["mean"]
    np.testing.assert_array_equal(net[0].weight.numpy(), arrays["0.weight"] * 2)
    assert wf.get_rng_state() == before


def test_shared_memory_is_stored_once(path: Path) -> None:
    net = network()
    nn.save(path, model=net, ema=net, again=net[0].weight)
    assert set(files.load_file(path)) == {f"model.{name}" for name in net.state_dict()}
    twin, ema = network(), network()
    rest = nn.load(path, model=twin, ema=ema)
    assert values(ema) == values(twin) == values(net)
    np.testing.assert_array_equal(rest["again"].numpy(), net[0].weight.numpy())


# ---------------------------------------------------------------- all or nothing


def cut(data: bytes) -> bytes:
    return data[:-1]


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def other_epoch(data: bytes) -> bytes:
    return data.replace(b'\\"epoch\\": 3', b'\\"epoch\\": 4')


def other_dtype(data: bytes) -> bytes:
    return data.replace(b'"dtype":"F32"', b'"dtype":"I32"')


def pickled(_: bytes) -> bytes:
    return b"\x80\x02]q\x00."


DAMAGES: list[Callable[[bytes], bytes]] = [
    cut,
    flip,
    other_epoch,
    other_dtype,
    pickled,
    lambda d: d[:30],
    lambda d: b"",
]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_changes_nothing(path: Path, damage: Callable[[bytes], bytes]) -> None:
    nn.save(path, model=network(), epoch=3)
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    net = network()
    before, generator = values(net), wf.get_rng_state()
    with pytest.raises(
        nn.CheckpointError, match=r"run\.safetensors: (not a safetensors file, or )?damaged"
    ):
        nn.load(path, model=net)
    assert values(net) == before and wf.get_rng_state() == generator


@pytest.mark.parametrize("shape", [[1] * 70, [0, 1 << 62], [0, 1 << 40, 1 << 40]])
def test_a_shape_that_no_array_has_is_refused(path: Path, shape: list[int]) -> None:
    elements = 4 * math.prod(shape)
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, elements]}}
    ).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(elements))
    with pytest.raises(
        nn.CheckpointError, match=r"run\.safetensors: (w has shape|not a safetensors file)"
    ):
        nn.load(path, w=wf.zeros(1))


def test_what_does_not_fit_changes_no_object_and_not_the_generator(path: Path) -> None:
    net, optimizer = trained()
    nn.save(
        path, model=net, optimizer=optimizer, weight=wf.ones(2), holder=Holder("refused"), epoch=1
    )
    twin, other = trained()
    wide = nn.Sequential(nn.Linear(3, 5))
    weight, holder = wf.zeros(2), Holder("as it was")
    before = values(twin), other.state_dict()["state"][0]["exp_avg"].tolist(), wf.get_rng_state()
    misfits: list[tuple[dict[str, Any], str]] = [
        (
            {"optimizer": wide},
            (
                r"optimizer: load_state_dict: the state does not fit Sequential: missing 0\.weight,"
                r" 0\.bias; un"
            ),
        ),
        (
            {"optimizer": nn.optim.Adam([wf.ones(1, requires_grad=True)])},
            r"optimizer: Adam\.load_state_dict: the optimiser has",
        ),
        ({"epoch": wf.zeros(1)}, "epoch: the checkpoint has 1, which is not a Tensor"),
        ({"epoch": wide}, "epoch: load_state_dict: the state must be a dict"),
        ({"holder": holder}, "holder: this is no state of mine"),
        (
            {"absent": wide},
            "there is no 'absent' in it; there are model, optimizer, weight, holder, epoch",
        ),
    ]
    for objects, text in misfits:
        with pytest.raises(nn.CheckpointError, match=f"run\\.safetensors: {text}"):
            nn.load(path, model=twin, **({"optimizer": other} | objects), weight=weight)
        assert holder.state == "as it was" and weight.tolist() == [0.0, 0.0]
        assert (
            values(twin),
            other.state_dict()["state"][0]["exp_avg"].tolist(),
            wf.get_rng_state(),
        ) == before


def test_a_mismatching_model_is_told_every_name_and_shape(path: Path) -> None:
    nn.save(path, model=nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    with pytest.raises(
        nn.CheckpointError,
        match=r"model: .*unexpected 2\.weight, 2\.bias; 0\.weight has shape \(5, 3\), ",
    ):
        nn.load(path, model=nn.Sequential(nn.Linear(3, 5)))


def test_a_rate_that_no_schedule_has_set_survives_a_load_that_fails(path: Path) -> None:
    optimizer = nn.optim.SGD([nn.Parameter(wf.ones(1))], lr=1.0)
    schedule = nn.optim.StepLR(optimizer, 1, 0.5)
    schedule.step()
    nn.save(path, optimizer=optimizer, schedule=schedule, holder=Holder("refused"))
    schedule.step()
    optimizer.lr = 0.7
    for order in (("optimizer", "schedule", "holder"), ("schedule", "holder", "optimizer")):
        objects = {"optimizer": optimizer, "schedule": schedule, "holder": Holder()}
        with pytest.raises(nn.CheckpointError, match="holder: this is no state of mine"):
            nn.load(path, **{name: objects[name] for name in order})
        assert schedule.last_epoch == 2
        assert optimizer.lr == 0.7
    nn.load(path, optimizer=optimizer, schedule=schedule)
    assert (schedule.last_epoch, optimizer.lr) == (1, 0.5)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_what_interrupts_a_load_goes_on_as_it_is(path: Path, kind: type[BaseException]) -> None:
    class Broken(Holder):
        def load_state_dict(self, state: Any) -> None:
            if state == "saved":
                raise kind

    nn.save(path, first=Holder(1), second=Holder("saved"))
    wf.rand(1).numpy()
    first, before = Holder(0), wf.get_rng_state()
    with pytest.raises(kind):
        nn.load(path, first=first, second=Broken("own"))
    assert first.state == 0 and wf.get_rng_state() == before


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nn.save(path, epoch=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        nn.CheckpointFileError,
        match=r"run\.safetensors: cannot be written: No space left on device",
    ):
        nn.save(path, epoch=2, weight=wf.ones(3))
    monkeypatch.undo()
    assert os.listdir(path.parent) == [path.name] and nn.load(path) == {"epoch": 1}
    with pytest.raises(wf.errors.IndexError):
        nn.save(path, epoch=3, x=wf.ones(2)[wf.tensor([2])])
    assert nn.load(path) == {"epoch": 1}


def test_a_save_replaces_what_a_link_leads_to_with_the_usual_rights(path: Path) -> None:
    link = path.with_name("latest.safetensors")
    nn.save(path, epoch=1)
    link.symlink_to(path)
    nn.save(link, epoch=2)
    plain = path.with_name("plain")
    plain.touch()
    assert (
        link.is_symlink()
        and nn.load(path) == {"epoch": 2}
        and path.stat().st_mode == plain.stat().st_mode
    )
    path.chmod(0o640)
    nn.save(path, epoch=3)
    assert path.stat().st_mode & 0o777 == 0o640


def test_files_that_are_not_there_are_os_errors(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for call in (
        lambda: nn.load(path),
        lambda: nn.save(tmp_path / "no" / "x", a=1),
        lambda: nn.load(str(path)),
    ):
        with pytest.raises(
            OSError, match=r"x: cannot be (read|written): No such file or directory"
        ) as found:
            call()
        assert isinstance(found.value, nn.CheckpointError) and isinstance(found.value, ValueError)
    with pytest.raises(nn.CheckpointFileError, match="Is a directory"):
        nn.load(tmp_path)


def test_what_cannot_be_stored_or_loaded_into_is_refused(path: Path) -> None:
    E = wf.errors
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (
            lambda: nn.save(path, x=Holder({"a": [object]})),
            E.DTypeError,
            r"save: x\.a\.0 is <class 'object'>, which is neither",
        ),
        (
            lambda: nn.save(path, x=np.ones(2)),
            E.DTypeError,
            r"save: x is array\(\[1\., 1\.\]\), which is neither a Tensor nor",
        ),
        (lambda: nn.save(path, x={1.5: 2}), E.DTypeError, r"save: x is a dict with the key 1\.5"),
        (lambda: nn.save(path, x=nn.Linear), E.DTypeError, "save: x is <class"),
        (
            lambda: nn.save({}, path),
            E.CallError,
            r"save: objects are passed by name, as in save\(path, model=model\)",
        ),
        (
            lambda: nn.load(path, {}),
            E.CallError,
            r"load: objects are passed by name, as in load\(path, model=model\), not {}",
        ),
        (lambda: nn.save(3), E.DTypeError, "save: the path must be a str or a Path, not 3"),
        (
            lambda: nn.load(path, x=3),
            E.DTypeError,
            r"load: x is 3, into which nothing can be loaded; load\(\) returns the rest",
        ),
        (lambda: nn.save(path, __metadata__=wf.ones(1)), E.ArgumentError, "__metadata__"),
        (
            wf.jit(lambda: nn.save(path)),
            E.JitError,
            "save: writing a checkpoint in the jitted function",
        ),
    ]
    for call, kind, text in refused:
        with pytest.raises(kind, match=text):
            call()
    assert not path.exists()


def test_a_header_that_no_reader_would_take_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nn.checkpoint, "MOST_TEXT", 1000)
    with pytest.raises(
        wf.errors.ArgumentError,
        match=r"the part that is not Tensors takes 1,\d\d\d characters, more than 1,000",
    ):
        nn.save(path, order=list(range(300)))
    assert not path.exists()
    nn.save(path, order=wf.arange(300))


def test_a_missing_package_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for call in (lambda: nn.save(path), lambda: nn.load(path)):
        with pytest.raises(wf.errors.MissingPackageError, match=r"pip install 'safetensors>=0\.8'"):
            call()


# ---------------------------------------------------------------- going on


@pytest.mark.slow
@pytest.mark.parametrize("jitted", [True, *rarely(False)], ids=["jit", "lazy"])
def test_training_goes_back_to_a_checkpoint_within_a_process(path: Path, jitted: bool) -> None:
    wf.manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = nn.optim.Adam(net.parameters(), lr=0.1)

    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x, f = wf.rand(8, 3), wf.jit(step) if jitted else step
    first = f(x).item()
    nn.save(path, net=net, optimizer=optimizer)
    after = [f(x).item() for _ in range(3)]
    nn.load(path, net=net, optimizer=optimizer)
    assert [f(x).item() for _ in range(3)] == after and first not in after


TRAINING = """
import os
import sys
import numpy as np
import weft as wf
from weft import nn

os.fsync = lambda _: None
path, first, last, mode, *on_the_way = sys.argv[1:]
first, last, jitted = int(first), int(last), mode == "jit"
wf.manual_seed(1)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
optimizer = nn.optim.Adam(net.parameters(), lr=0.01)
x = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
loader = nn.data.DataLoader(nn.data.TensorDataset(x, x.sum(axis=1, keepdims=True)), 8, shuffle=True)

def step(x, y):
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss

step = wf.jit(step) if jitted else step
state = {"model": net, "optimizer": optimizer, "schedule": nn.optim.StepLR(optimizer, 2, 0.5)}
if first:
    assert nn.load(path, **state) == {"epoch": first}
for epoch in range(first, last):
    if on_the_way and epoch == 2:
        nn.save(*on_the_way, **state, epoch=2)
    for batch in loader:
        loss = step(*batch)
    state["schedule"].step()
    optimizer.lr *= 0.9  # which the schedule does not know
nn.save(path, **state, epoch=last)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["lazy", *rarely("jit")])
def test_four_epochs_are_two_and_two_more_in_another_process_bit_for_bit(
    tmp_path: Path, mode: str
) -> None:
    def train(name: str, first: int, last: int, *on_the_way: str) -> bytes:
        command = [
            sys.executable,
            "-c",
            TRAINING,
            str(tmp_path / name),
            str(first),
            str(last),
            mode,
            *on_the_way,
        ]
        subprocess.run(command, check=True, timeout=300)
        return (tmp_path / name).read_bytes()

    straight = train("straight", 0, 4, str(tmp_path / "resumed"))
    half = (tmp_path / "resumed").read_bytes()
    assert half != straight and train("resumed", 2, 4) == straight
    before = wf.get_rng_state()
    assert nn.load(tmp_path / "resumed")["epoch"] == 4 and wf.get_rng_state()["draws"] > 30
    wf.set_rng_state(before)


def test_a_state_dict_of_other_origin_says_how_it_is_loaded(path: Path) -> None:
    net = network()
    files.save_file({name: t.numpy() * 2 for name, t in net.state_dict().items()}, path)
    with pytest.raises(
        nn.CheckpointError,
        match=r"no 'net' in it; .*; a state_dict alone is loaded by net\.load_state_dict",
    ):
        nn.load(path, net=net)
    net.load_state_dict(nn.load(path))
