"""Data sets and minibatches. In: a folder, an environment setting or nothing. Out: batches of Tensors."""

from __future__ import annotations

from .batches import batches
from .collate import default_collate
from .dataset import ConcatDataset, Dataset, Subset, TensorDataset, random_split
from .idx import Array, DataError, read_idx
from .images import DIGITS_TEST, MNIST_SHA256, MNIST_URL, Images, digits, download, mnist, read_mnist, resize
from .loader import DataLoader
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "DIGITS_TEST",
    "MNIST_SHA256",
    "MNIST_URL",
    "Array",
    "BatchSampler",
    "ConcatDataset",
    "DataError",
    "DataLoader",
    "Dataset",
    "Images",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "TensorDataset",
    "batches",
    "default_collate",
    "digits",
    "download",
    "mnist",
    "random_split",
    "read_idx",
    "read_mnist",
    "resize",
]
