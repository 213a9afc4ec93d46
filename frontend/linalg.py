"""Functions of `wf.linalg`. In: Tensors, or what makes them. Out: lazy Tensors.

All names and signatures of the extension `linalg` of the Array API standard 2024.12, and what users
of NumPy and PyTorch know besides. Factorisations and solutions are computed by NumPy's LAPACK,
inside the programs that they are part of.
"""

from __future__ import annotations

from .linear_algebra import equations as _equations
from .linear_algebra import factorisations as _factorisations
from .linear_algebra import norms as _norms
from .linear_algebra import powers as _powers
from .linear_algebra import standard as _standard
from .tensor.binding import function as _function
from .tensor.names_elsewhere import public as _public

solve, solve_triangular, inv, pinv = map(
    _function,
    (_equations.solve, _equations.solve_triangular, _equations.inv, _equations.pinv),
)
lstsq, matrix_rank, det, slogdet = map(
    _function,
    (_equations.lstsq, _equations.matrix_rank, _equations.det, _equations.slogdet),
)
cholesky, qr, svd, svdvals = map(
    _function,
    (_factorisations.cholesky, _factorisations.qr, _factorisations.svd, _factorisations.svdvals),
)
eigh, eigvalsh, eig, eigvals, lu = map(
    _function,
    (
        _factorisations.eigh,
        _factorisations.eigvalsh,
        _factorisations.eig,
        _factorisations.eigvals,
        _factorisations.lu,
    ),
)
vector_norm, matrix_norm, norm, cond = map(
    _function, (_norms.vector_norm, _norms.matrix_norm, _norms.norm, _norms.cond)
)
matrix_power, expm, multi_dot = map(
    _function, (_powers.matrix_power, _powers.expm, _powers.multi_dot)
)
cross, diagonal, matmul, matrix_transpose = map(
    _function,
    (_standard.cross, _standard.diagonal, _standard.matmul, _standard.matrix_transpose),
)
outer, tensordot, trace, vecdot = map(
    _function, (_standard.outer, _standard.tensordot, _standard.trace, _standard.vecdot)
)

EigResult, EighResult, LUResult, LstsqResult = (
    _factorisations.EigResult,
    _factorisations.EighResult,
    _factorisations.LUResult,
    _equations.LstsqResult,
)
QRResult, SVDResult, SlogdetResult = (
    _factorisations.QRResult,
    _factorisations.SVDResult,
    _equations.SlogdetResult,
)

globals()["__all__"] = _public(globals())
