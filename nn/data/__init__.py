"""Data sets and minibatches. In: a folder, an environment setting or nothing. Out: batches of
Tensors."""

from __future__ import annotations

from . import transforms
from .collate import *
from .dataset import *
from .glove import *
from .glue import *
from .idx import *
from .image_sets import *
from .images import *
from .loader import *
from .point_sets import *
from .samplers import *
from .text import *

# The names that the files list, as in functional/__init__.py; transforms has names of its own.
_FILES = [
    file for file in globals().values() if file is not transforms and hasattr(file, "__all__")
]
globals()["__all__"] = ["transforms", *(name for file in _FILES for name in file.__all__)]
