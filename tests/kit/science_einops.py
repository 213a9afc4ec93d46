"""What einops has for arrays of any library. In: nothing. Out: a call of each."""

from __future__ import annotations

from science_calls import Client

CALLS = """
array_api.rearrange(m, "(a b) c -> b (a c)", a=3)
array_api.reduce(m, "(a b) c -> a c", "mean", b=4)
array_api.repeat(m, "a b -> a b c", c=2)
array_api.pack([m, m[:, 0]], "a *")
array_api.unpack(m, [(3,), ()], "a *")
"""

EINOPS = Client(
    "einops",
    "einops",
    {"array_api": "einops.array_api"},
    CALLS,
    {},
    {"float32": 1e-6, "float64": 1e-14},
)
