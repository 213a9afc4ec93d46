"""Factorisations of matrices. In: Nodes (.., m, n). Out: Nodes, in named tuples where there are
several.

The standard's names, signatures and results: https://data-apis.org/array-api/2024.12.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import errors
from ...ir.gradient.matrices import h, identity
from ...ir.graph.graph import Node, full
from ..operands.arguments import as_bool, as_choice
from .calls import call, call_complex, matrices, of_floats, square


class EighResult(NamedTuple):
    """Eigenvalues in ascending order (.., n), and their eigenvectors as columns (.., n, n)."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues (.., n), and their eigenvectors as columns (.., n, n)."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Q with orthonormal columns, and R, an upper triangle."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """U, singular values in descending order, and the conjugate transpose of V."""

    U: Any
    S: Any
    Vh: Any


class LUResult(NamedTuple):
    """P, which exchanges rows, L, a lower triangle with ones on its diagonal, and U, an upper
    one."""

    P: Any
    L: Any
    U: Any


@of_floats
def cholesky(x: Node, /, *, upper: bool = False) -> Node:
    """The lower triangle L with L @ L.mT = x, of symmetric positive definite matrices (.., n, n);
    with upper its transpose. Only the lower triangle of x is read.

    Raises ShapeError; when it is computed LinAlgError for a matrix that is not positive definite.

    >>> wf.linalg.cholesky(wf.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    is_upper = as_bool("cholesky", "upper", upper)
    (out,) = call("cholesky", [square("cholesky", x)], [x.shape[-2:]])
    return h(out) if is_upper else out


@of_floats
def qr(x: Node, /, *, mode: str = "reduced") -> QRResult:
    """x = Q @ R for matrices (.., m, n). With k = min(m, n), mode "reduced" gives Q (.., m, k) and
    R (.., k, n), mode "complete" Q (.., m, m) and R (.., m, n).

    Gradients need the first k columns of x to be independent; in mode "complete", m <= n. Raises
    ShapeError, ArgumentError.
    """
    m, n = matrices("qr", x).shape[-2:]
    k = m if as_choice("qr", "mode", mode, ("reduced", "complete")) == "complete" else min(m, n)
    shapes = [(m, k), (k, n)]
    if not min(m, n):
        return QRResult(*(_without_elements(x, s) for s in shapes))
    # with m <= n, both modes are the same
    return QRResult(*call("qr", [x], shapes, "reduced" if k == min(m, n) else "complete"))


def _without_elements(x: Node, shape: tuple[int, ...]) -> Node:
    """A factor of this shape of matrices that have no elements: an identity, or empty as well."""
    if len(shape) == 2 and shape[0] == shape[1]:
        return identity(x.shape[:-2], shape[0], x.dtype)
    return full(0, x.dtype, (*x.shape[:-2], *shape))


@of_floats
def svd(x: Node, /, *, full_matrices: bool = True) -> SVDResult:
    """x = U @ diag(S) @ Vh for matrices (.., m, n). With k = min(m, n), S is (.., k), U (.., m, k)
    and Vh (.., k, n); with full_matrices U (.., m, m) and Vh (.., n, n).

    Gradients by U and Vh divide by the gaps between squares of singular values, and need
    full_matrices=False unless m = n. Vectors are determined up to sign: only what does not depend
    on these has a meaningful gradient. Raises ShapeError; when it is computed LinAlgError for
    matrices that are not finite.
    """
    m, n = matrices("svd", x).shape[-2:]
    k = min(m, n)
    whole = as_bool("svd", "full_matrices", full_matrices) and m != n
    shapes = [(m, m if whole else k), (k,), (n if whole else k, n)]
    if not k:
        return SVDResult(*(_without_elements(x, s) for s in shapes))
    return SVDResult(*call("svd", [x], shapes, whole))


@of_floats
def svdvals(x: Node, /) -> Node:
    """The singular values of matrices (.., m, n) in descending order: (.., min(m, n)). Their
    gradient needs no gaps between them."""
    k = min(matrices("svdvals", x).shape[-2:])
    return call("svdvals", [x], [(k,)])[0]


@of_floats
def eigh(x: Node, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric matrices (.., n, n), of which only the lower
    triangle is read: x @ v = v * w.

    Gradients by the eigenvectors divide by the gaps between eigenvalues, so they are not finite
    where two are equal; those by the eigenvalues alone need no gaps. Raises ShapeError; when it is
    computed LinAlgError for matrices that are not finite.

    >>> wf.linalg.eigh(wf.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    n = square("eigh", x).shape[-1]
    return EighResult(*call("eigh", [x], [(n,), (n, n)]))


@of_floats
def eigvalsh(x: Node, /) -> Node:
    """The eigenvalues of symmetric matrices (.., n, n) in ascending order: (.., n)."""
    n = square("eigvalsh", x).shape[-1]
    return call("eigvalsh", [x], [(n,)])[0]


@of_floats
def eig(x: Node, /) -> EigResult:
    """Eigenvalues (.., n) and eigenvectors, columns of length 1 (.., n, n), of square matrices:
    x @ v = v * w. Complex numbers, whatever the matrices are.

    Gradients divide by the gaps between eigenvalues; vectors are determined up to a factor of
    modulus 1, so only what does not depend on that has a meaningful gradient. Raises ShapeError;
    when it is computed LinAlgError for matrices that are not finite.
    """
    n = square("eig", x).shape[-1]
    return EigResult(*call_complex("eig", x, (n,), (n, n)))


@of_floats
def eigvals(x: Node, /) -> Node:
    """The eigenvalues of square matrices (.., n, n): (.., n), complex numbers."""
    n = square("eigvals", x).shape[-1]
    return call_complex("eigvals", x, (n,))[0]


@of_floats
def lu(x: Node, /) -> LUResult:
    """x = P @ L @ U for matrices (.., m, n), with k = min(m, n) columns in L, by SciPy.

    Its gradient is that of square matrices. Raises ShapeError, MissingPackageError without SciPy.
    """
    m, n = matrices("lu", x).shape[-2:]
    _require_scipy("lu")
    k = min(m, n)
    return LUResult(*call("lu", [x], [(m, m), (m, k), (k, n)]))


def _require_scipy(name: str) -> None:
    from importlib.util import find_spec

    if find_spec("scipy") is None:
        raise errors.MissingPackageError(f"{name}: SciPy is missing: pip install 'weft[linalg]'")
