"""Layers and losses as functions. In: Tensors. Out: Tensors; torch's signatures, with `axis` for
`dim`.

Everything here is a composite of a few graph ops. Each file lists its functions in `__all__`.
"""

from __future__ import annotations

from .activation import *
from .attention import *
from .classification import *
from .ctc import *
from .dropouts import *
from .embeddings import *
from .loss import *
from .margin import *
from .normalization import *
from .padding import *
from .piecewise import *
from .resampling import *
from .sampling import *
from .windows import *

# The names that the files list. A type checker finds them itself, and would take a computed __all__
# for an empty one.
globals()["__all__"] = [
    name for file in [*globals().values()] for name in getattr(file, "__all__", ())
]
