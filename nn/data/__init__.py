"""Data sets and minibatches. In: a folder, an environment setting or nothing. Out: batches of Tensors."""

from __future__ import annotations

from . import transforms
from .buckets import BucketBatchSampler
from .collate import default_collate
from .corpus import Sentences, reviews
from .dataset import ConcatDataset, Dataset, Subset, TensorDataset, random_split
from .embedded import digits
from .glove import read_glove
from .idx import Array, DataError, read_idx
from .image_sets import fashion_mnist, mnist, read_mnist
from .images import Images
from .lines import read_lines
from .loader import DataLoader
from .points import POINT_SETS, Points, points
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .sst2 import read_tsv, sst2
from .text import Vocabulary, pad_sequences, tokenize

__all__ = [
    "POINT_SETS",
    "Array",
    "BatchSampler",
    "BucketBatchSampler",
    "ConcatDataset",
    "DataError",
    "DataLoader",
    "Dataset",
    "Images",
    "Points",
    "RandomSampler",
    "Sampler",
    "Sentences",
    "SequentialSampler",
    "Subset",
    "TensorDataset",
    "Vocabulary",
    "default_collate",
    "digits",
    "fashion_mnist",
    "mnist",
    "pad_sequences",
    "points",
    "random_split",
    "read_glove",
    "read_idx",
    "read_lines",
    "read_mnist",
    "read_tsv",
    "reviews",
    "sst2",
    "tokenize",
    "transforms",
]
