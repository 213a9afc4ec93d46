"""The embedded images. In: nothing but scikit-learn. Out: its handwritten digits in the size of MNIST's."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from .idx import Array, DataError
from .images import Images

__all__ = ["digits"]

TEST = 360  # of the 1,797 digits
SEED = 0
SOURCE = "scikit-learn digits"


def digits() -> tuple[Images, Images]:
    """(train, test) of the 1,797 8x8 digits bundled with scikit-learn, scaled to 28x28 uint8; the split is fixed.

    Raises DataError without scikit-learn.

    >>> train, test = nn.data.digits()
    >>> train.images.shape, len(test)
    ((1437, 1, 28, 28), 360)
    """
    try:
        bunch = import_module("sklearn.datasets").load_digits()
    except ImportError:
        why = "there is no data set: set WEFT_DATA_DIR to a folder with its files, or install scikit-learn for its digits"
        raise DataError(f"{why} (pip install scikit-learn)") from None
    small = bunch.images.astype(np.float32) * (255.0 / 16.0)
    images = np.rint(resize(small, 28, 28)).astype(np.uint8)[:, None]
    labels = bunch.target.astype(np.uint8)
    order = np.random.default_rng(SEED).permutation(len(images))
    test, train = order[:TEST], order[TEST:]
    return Images(images[train], labels[train], SOURCE), Images(images[test], labels[test], SOURCE)


def resize(images: Array, height: int, width: int) -> Array:
    """Bilinear interpolation of (N, H, W) with pixel centres at half integers and clamped edges."""
    rows, columns = _bilinear(images.shape[1], height), _bilinear(images.shape[2], width)
    out: Array = rows @ images @ columns.T
    return out


def _bilinear(old: int, new: int) -> Array:
    """The (new, old) matrix whose rows hold the two weights of each sample."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    distance = np.abs(at[:, None] - np.arange(old))
    return np.maximum(0.0, 1.0 - distance).astype(np.float32)
