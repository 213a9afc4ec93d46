"""A network trained in torch goes on here: its state by way of a safetensors file, its accuracy the
same; and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from lenet import LeNet, normalised
from weft import nn

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytestmark = pytest.mark.torch


class TorchLeNet(torch.nn.Module):  # type: ignore[misc]
    """The network of examples/lenet.py."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 6, 5, padding=2), torch.nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = (
            torch.nn.Linear(400, 120),
            torch.nn.Linear(120, 84),
            torch.nn.Linear(84, 10),
        )

    def forward(self, images: Any) -> Any:
        pool = torch.nn.functional.max_pool2d
        x = (images.float() / 255.0 - 0.13) / 0.31
        x = pool(self.conv2(pool(self.conv1(x).relu(), 2)).relu(), 2).flatten(1)
        return self.fc3(self.fc2(self.fc1(x).relu()).relu())


def labels_of(model: Any, images: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(images)).argmax(1).numpy()  # type: ignore[no-any-return]


def test_a_lenet_trained_in_torch_has_the_same_accuracy_here_and_back(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    torch.manual_seed(0)
    train, test = nn.data.digits()
    theirs = TorchLeNet()
    optimizer = torch.optim.Adam(theirs.parameters(), lr=2e-3)
    for start in range(0, 1280, 64):
        loss = torch.nn.functional.cross_entropy(
            theirs(torch.from_numpy(train.images[start : start + 64])),
            torch.from_numpy(train.labels[start : start + 64].astype(np.int64)),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    save_file(theirs.state_dict(), tmp_path / "torch.safetensors")

    ours = LeNet()
    ours.load_state_dict(nn.load(tmp_path / "torch.safetensors"))
    expected, found = (
        labels_of(theirs, test.images),
        ours(normalised(wf.tensor(test.images))).argmax(axis=1).numpy(),
    )
    assert (expected == test.labels).mean() > 0.5  # it has learned something
    np.testing.assert_array_equal(found, expected)

    nn.save(tmp_path / "weft.safetensors", **ours.state_dict())
    back = TorchLeNet()
    back.load_state_dict(load_file(tmp_path / "weft.safetensors"))
    np.testing.assert_array_equal(labels_of(back, test.images), expected)
