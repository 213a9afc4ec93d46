"""The functions of array-api-extra. In: nothing. Out: a call of each."""

from __future__ import annotations

from science_calls import Client

CALLS = """
xpx.angle(x)
xpx.apply_where(x > 1, (x, y), lambda a, b: a + b, lambda a, b: a - b)
xpx.argpartition(x, 3)[3]
xpx.at(x, 2).set(5.0)
xpx.at(x)[2:4].add(1.0)
xpx.at(x)[x > 1].multiply(2.0)
xpx.at(x, 0).max(2.0)
xpx.atleast_nd(x, ndim=3)
xpx.broadcast_shapes((3, 1), (4,))
xpx.cov(m)
xpx.create_diagonal(x, offset=1)
xpx.deg2rad(x)
xpx.diag_indices(3, xp=xp)
xpx.expand_dims(m, axis=(0, -1))
xpx.isclose(x, x + 1e-9)
xpx.isin(counts, counts[:3])
xpx.kron(square, kernel)
xpx.lazy_apply(lambda a: a * 2, x, as_numpy=True)
xpx.nan_to_num(x / (x - x[0]))
xpx.nanmax(m, axis=0)
xpx.nanmean(m, axis=0)
xpx.nanmin(m, axis=0)
xpx.nansum(m, axis=0)
xpx.nunique(counts)
xpx.one_hot(classes, 3)
xpx.pad(m, 2)
xpx.partition(x, 3)[3]
xpx.rad2deg(x)
xpx.searchsorted(t, few)
xpx.setdiff1d(counts, counts[:3])
xpx.sinc(x)
xpx.tril_indices(3, xp=xp)
xpx.triu_indices(3, xp=xp)
xpx.union1d(counts, classes)
xpx.unravel_index(classes, (2, 3))
"""

EXTRA = Client(
    "array-api-extra",
    "array_api_extra",
    {"xpx": "array_api_extra"},
    CALLS,
    {},
    {"float32": 1e-5, "float64": 1e-12},
)
