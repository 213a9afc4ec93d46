"""Linear algebra: `wf.linalg`. In: Tensors, or what makes them. Out: lazy Tensors.

All names and signatures of the extension `linalg` of the Array API standard 2024.12, and what users
of NumPy and PyTorch know besides. Factorisations and solutions are computed by NumPy's LAPACK,
inside the programs that they are part of.
"""

from __future__ import annotations

from ..frontend.linear_algebra import equations as _equations
from ..frontend.linear_algebra import factorisations as _factorisations
from ..frontend.linear_algebra import norms as _norms
from ..frontend.linear_algebra import powers as _powers
from ..frontend.linear_algebra import standard as _standard
from ..frontend.linear_algebra.equations import LstsqResult as LstsqResult
from ..frontend.linear_algebra.equations import SlogdetResult as SlogdetResult
from ..frontend.linear_algebra.factorisations import EighResult as EighResult
from ..frontend.linear_algebra.factorisations import LUResult as LUResult
from ..frontend.linear_algebra.factorisations import QRResult as QRResult
from ..frontend.linear_algebra.factorisations import SVDResult as SVDResult
from ..frontend.tensor.binding import function as _function
from ..frontend.tensor.names_elsewhere import of_module as _of_module
from ..frontend.tensor.names_elsewhere import public as _public

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
eigh, eigvalsh, lu = map(
    _function, (_factorisations.eigh, _factorisations.eigvalsh, _factorisations.lu)
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

globals()["__all__"] = _public(globals())
__getattr__ = _of_module(__name__)
