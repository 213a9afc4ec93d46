"""The layers: a Module each, holding Parameters and calling nn/functional. Layouts and arguments
are torch's."""

from __future__ import annotations

from .activation import *
from .attention import *
from .container import *
from .conv import *
from .dropouts import *
from .embeddings import *
from .linear import *
from .loss import *
from .margin import *
from .normalization import *
from .padding import *
from .piecewise import *
from .pooling import *
from .recurrent import *
from .recurrent_networks import *
from .resampling import *
from .shape import *
from .transformer import *

# The names that the files list. A type checker finds them itself, and would take a computed __all__
# for an empty one.
globals()["__all__"] = [
    name for file in [*globals().values()] for name in getattr(file, "__all__", ())
]
