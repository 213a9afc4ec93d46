"""MNIST, Fashion-MNIST, scikit-learn's digits. In: a folder, an environment setting or nothing.
Out: uint8 images and labels.

Both have 60,000 training and 10,000 test images of 28x28 pixels in ten classes, in the same four
idx files: LeCun, Cortes and Burges (yann.lecun.com/exdb/mnist); Xiao, Rasul and Vollgraf 2017
(github.com/zalandoresearch/fashion-mnist).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from .idx import Array, DataError, read_idx
from .images import Images, Transform
from .sources import Source, file_of, find, folder_of, instead_of

__all__ = ["digits", "fashion_mnist", "mnist", "read_mnist"]


def _source(name: str, folders: tuple[str, ...], url: str, *sha256: str) -> Source:
    kinds = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    files = tuple(f"{kind}-ubyte.gz" for kind in kinds)
    return Source(name, files, folders, url, dict(zip(files, sha256, strict=True)))


MNIST = _source(
    "MNIST",
    (".", "mnist", "MNIST/raw"),
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)
FASHION_MNIST = _source(
    "Fashion-MNIST",
    (
        "fashion-mnist",
        "fashion",
        "FashionMNIST/raw",
    ),  # not the shared folder itself: MNIST's files have the same names
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
)


def mnist(
    path: str | Path | None = None, transform: Transform | None = None
) -> tuple[Images, Images]:
    """(train, test) of MNIST from `path`, WEFT_DATA_DIR or a download; without these, of
    scikit-learn's digits.

    The field `source` says which. Raises DataError for damaged files, and for a path without them.

    >>> nn.data.mnist("a folder of mine")
    Traceback (most recent call last):
    weft.nn.data.idx.DataError: a folder of mine: there is no train-images-idx3-ubyte.gz or ...
    """
    return _load(MNIST, path, transform)


def fashion_mnist(
    path: str | Path | None = None, transform: Transform | None = None
) -> tuple[Images, Images]:
    """(train, test) of Fashion-MNIST from `path`, WEFT_DATA_DIR (its subfolder fashion-mnist) or a
    download.

    Without these, scikit-learn's digits stand in, so that a script runs; the field `source` says
    so. Raises DataError for damaged files, and for a path without them.

    >>> nn.data.fashion_mnist("mine", transform=lambda image: image / 255)
    Traceback (most recent call last):
    weft.nn.data.idx.DataError: mine: there is no ... nor in its subfolder fashion-mnist or ...
    """
    return _load(FASHION_MNIST, path, transform)


def _load(
    source: Source, path: str | Path | None, transform: Transform | None
) -> tuple[Images, Images]:
    folder = find(source, path)
    train, test = _stand_in(source) if folder is None else _read(folder)
    return replace(train, transform=transform), replace(test, transform=transform)


def _stand_in(source: Source) -> tuple[Images, Images]:
    train, test = digits()
    text = instead_of(source, train.source)
    return replace(train, source=text), replace(test, source=text)


def read_mnist(folder: str | Path) -> tuple[Images, Images]:
    """(train, test) from the four idx files, gzipped or not, in `folder` or its subfolder `mnist`.
    Raises DataError.

    >>> nn.data.read_mnist("nowhere")
    Traceback (most recent call last):
    weft.nn.data.idx.DataError: nowhere: there is no train-images-idx3-ubyte.gz or ...
    """
    return _read(folder_of(MNIST, folder))


def _read(folder: Path) -> tuple[Images, Images]:
    return _read_split(folder, "train"), _read_split(folder, "t10k")


def _read_split(folder: Path, split: str) -> Images:
    paths = [file_of(folder, f"{split}-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1")]
    images, labels = (read_idx(path) for path in paths)
    if (
        images.ndim != 3
        or labels.shape != images.shape[:1]
        or images.dtype != np.uint8
        or labels.dtype != np.uint8
    ):
        shapes = f"{images.dtype}{images.shape} and {labels.dtype}{labels.shape}"
        raise DataError(f"{folder}: the {split} images and labels do not belong together: {shapes}")
    return Images(images[:, None], labels, str(folder))


# ---------------------------------------------------------------- the digits of scikit-learn in the
# size of MNIST's


TEST = 360  # of the 1,797 digits
SEED = 0
SOURCE = "scikit-learn digits"


def digits() -> tuple[Images, Images]:
    """(train, test) of the 1,797 8x8 digits bundled with scikit-learn, scaled to 28x28 uint8; the
    split is fixed.

    Raises DataError without scikit-learn.

    >>> train, test = nn.data.digits()
    >>> train.images.shape, len(test)
    ((1437, 1, 28, 28), 360)
    """
    try:
        bunch = import_module("sklearn.datasets").load_digits()
    except ImportError:
        why = (
            "there is no data set: set WEFT_DATA_DIR to a folder with its files, or install"
            " scikit-learn for its digits"
        )
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
