"""Data sets of images as NumPy arrays. In: a folder, an environment setting or nothing. Out: uint8 images and labels.

MNIST comes from the first of: a given folder, WEFT_DATA_DIR, a checksum-verified download (`wf.nn.data.download`),
and, with none of them, scikit-learn's bundled handwritten digits scaled to 28x28.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from ... import options
from .idx import Array, DataError, read_idx

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
DIGITS_TEST = 360  # of the 1,797 digits
DIGITS_SEED = 0


@dataclass(frozen=True, eq=False)
class Images:
    """Images (N, 1, H, W) and labels (N,), both uint8, and where they came from."""

    images: Array
    labels: Array
    source: str

    def __len__(self) -> int:
        return len(self.images)

    def first(self, limit: int | None) -> Images:
        return self if limit is None else Images(self.images[:limit], self.labels[:limit], self.source)


def read_mnist(folder: str | Path) -> tuple[Images, Images]:
    """(train, test) from the four idx files, gzipped or not, in `folder` or its subfolder `mnist`."""
    folder = Path(folder)
    train, test = (_read_split(folder, split) for split in ("train", "t10k"))
    return train, test


def _read_split(folder: Path, split: str) -> Images:
    images_path, labels_path = _find(folder, f"{split}-images-idx3-ubyte"), _find(folder, f"{split}-labels-idx1-ubyte")
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or labels.shape != images.shape[:1] or images.dtype != np.uint8 or labels.dtype != np.uint8:
        shapes = f"{images.dtype}{images.shape} and {labels.dtype}{labels.shape}"
        raise DataError(f"{images_path.parent}: the {split} images and labels do not belong together: {shapes}")
    return Images(images[:, None], labels, str(images_path.parent))


def _find(folder: Path, name: str) -> Path:
    candidates = [base / (name + suffix) for base in (folder, folder / "mnist") for suffix in (".gz", "")]
    for path in candidates:
        if path.is_file():
            return path
    raise DataError(f"{folder}: there is no {name}.gz or {name} in it, nor in its subfolder mnist")


# ---------------------------------------------------------------- where digits come from


def mnist(path: str | Path | None = None) -> tuple[Images, Images]:
    """(train, test) of MNIST from `path`, WEFT_DATA_DIR or a download; without these, of the embedded digits."""
    given = path or options.current().data_dir
    if given is not None:
        return read_mnist(given)
    folder = download()
    return digits() if folder is None else read_mnist(folder)


def download(folder: str | Path | None = None) -> Path | None:
    """The folder of the four MNIST files, fetched unless there; None without pooch or a network. A wrong checksum raises."""
    try:
        pooch = import_module("pooch")
    except ImportError:
        return None
    target = Path(folder) if folder is not None else Path(pooch.os_cache("weft")) / "mnist"
    pooch.get_logger().setLevel("WARNING")
    for name, checksum in MNIST_SHA256.items():
        try:
            pooch.retrieve(MNIST_URL + name, checksum, name, target, downloader=pooch.HTTPDownloader(timeout=10))
        except OSError:  # what requests raises without a network
            return None
        except ValueError as e:
            raise DataError(f"{MNIST_URL}{name}: the download does not have the known checksum ({e})") from e
    return target


def digits() -> tuple[Images, Images]:
    """(train, test) of the 1,797 8x8 digits bundled with scikit-learn, scaled to 28x28 uint8; the split is fixed."""
    try:
        bunch = import_module("sklearn.datasets").load_digits()
    except ImportError:
        why = "there is no data set: set WEFT_DATA_DIR to a folder of MNIST files, or install scikit-learn for its digits"
        raise DataError(f"{why} (pip install scikit-learn)") from None
    small = bunch.images.astype(np.float32) * (255.0 / 16.0)
    images = np.rint(resize(small, 28, 28)).astype(np.uint8)[:, None]
    labels = bunch.target.astype(np.uint8)
    order = np.random.default_rng(DIGITS_SEED).permutation(len(images))
    source = "scikit-learn digits"
    test, train = order[:DIGITS_TEST], order[DIGITS_TEST:]
    return Images(images[train], labels[train], source), Images(images[test], labels[test], source)


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
