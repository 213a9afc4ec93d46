"""Data sets and minibatches. In: a folder, an environment setting or nothing. Out: arrays."""

from __future__ import annotations

from .batches import batches
from .idx import Array, DataError, read_idx
from .images import DIGITS_TEST, MNIST_SHA256, MNIST_URL, Images, digits, download, mnist, read_mnist, resize

__all__ = [
    "DIGITS_TEST",
    "MNIST_SHA256",
    "MNIST_URL",
    "Array",
    "DataError",
    "Images",
    "batches",
    "digits",
    "download",
    "mnist",
    "read_idx",
    "read_mnist",
    "resize",
]
