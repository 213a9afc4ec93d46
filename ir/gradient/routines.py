"""Derivatives of routines. In: a routine, its sources and results, cotangents of the results. Out:
cotangents of the sources.

Each rule is linear in the cotangents and made of Nodes, so that forward mode and derivatives of any
order follow. The formulas are for complex matrices, too: the cotangent of a linear map A x is
h(A) g, of x and g the vectors. Sources:
    M. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008
    I. Murray, "Differentiation of the Cholesky decomposition", 2016
    J. Townsend, "Differentiating the singular value decomposition", 2016
    M. Seeger et al., "Auto-differentiating linear algebra", 2017 (eigh, QR)
    D. Roberts, L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms for square,
        wide, and deep matrices", 2020
    G. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
        problems whose variables separate", 1973

Eigenvectors and singular vectors of values that are equal have no derivative: gaps divide, and what
comes out is not finite. Derivatives by the values alone need no gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ... import errors
from ..graph.graph import Node, expand, full, node, zeros_like
from ..graph.op import Op
from ..graph.region import results_of
from ..graph.routine import Routine
from ..ops.nodes import add, conj, divided, imag, lifted, lt, mul, neg, scaled, sub, where
from ..ops.nodes import real as real_part
from .matrices import (
    as_rows,
    columns_times,
    complex_routine,
    diagonal,
    diagonal_of,
    differences,
    h,
    hermitian,
    inverse,
    lower,
    off_diagonal,
    product,
    products,
    routine,
    rows_times,
    skew,
    solved,
    solved_triangle,
    spread,
    sums,
    upper,
)

# (outputs, cotangents, wrt) -> cotangents, as gradient.vjp
Vjp = Callable[[Sequence[Node], Sequence[Node], Sequence[Node]], list[Node | None]]
Found = Sequence[Node | None]


class Pull(NamedTuple):
    """What a rule is given: `g`, the cotangents of results by number."""

    spec: Routine
    src: tuple[Node, ...]
    results: list[Node]
    g: Mapping[int, Node]
    vjp: Vjp

    def of(self, k: int) -> Node:
        """The cotangent of result k, zeros where there is none."""
        return self.g[k] if k in self.g else zeros_like(self.results[k])


def pulled_by_rule(
    spec: Routine, src: tuple[Node, ...], cotangents: Mapping[int, Node], vjp: Vjp
) -> list[Node | None]:
    """The cotangent of each source."""
    results = results_of(Op.ROUTINE, spec, src)
    return list(RULES[spec.name](Pull(spec, src, results, cotangents, vjp)))


# ---------------------------------------------------------------- systems of equations


def _solve(p: Pull) -> Found:
    (a, _), (x,) = p.src, p.results
    of_b = solved(h(a), p.of(0))
    return neg(product(of_b, h(x))), of_b


def _solve_triangular(p: Pull) -> Found:
    (a, _), (x,) = p.src, p.results
    is_upper, unit = (bool(q) for q in p.spec.params)
    of_b = solved_triangle(h(a), p.of(0), not is_upper, unit)
    of_a = neg(product(of_b, h(x)))
    return (upper if is_upper else lower)(of_a, strictly=unit), of_b


def _inv(p: Pull) -> Found:
    (x,) = p.results
    return (neg(products(h(x), p.of(0), h(x))),)


def _pinv(p: Pull) -> Found:
    """For a rank that stays."""
    (a, _), (x,) = p.src, p.results
    g, xh = p.of(0), h(x)
    gh = h(g)
    rest = product(gh, product(x, xh))  # h(g) x h(x)
    other = products(xh, x, gh)
    of_a = add(
        sub(sub(rest, products(a, x, rest)), products(xh, g, xh)),
        sub(other, products(other, x, a)),
    )
    return of_a, None


# ---------------------------------------------------------------- determinants


def _det(p: Pull) -> Found:
    """By cofactors, which singular matrices have, too."""
    (a,) = p.src
    m, n = a.shape[-2:]
    return (mul(spread(p.of(0), m, n), routine("cofactor", (a,), (), (m, n))[0]),)


def _cofactor(p: Pull) -> Found:
    """Of a matrix that is not singular: the cofactors are conj(det(a)) h(inverse(a))."""
    (a,) = p.src
    m, n = a.shape[-2:]
    (det,) = routine("det", (a,), (), ())
    cofactor = mul(conj(spread(det, m, n)), h(inverse(a)))
    return p.vjp([cofactor], [p.of(0)], [a])


def _slogdet(p: Pull) -> Found:
    """The sign of a real determinant is constant, that of a complex one turns with the imaginary
    part of trace(inverse(a) da)."""
    (a,), (sign, _) = p.src, p.results
    turns = 0 in p.g and sign.dtype.is_complex
    if 1 not in p.g and not turns:
        return (None,)
    weight = lifted(p.of(1), a)
    if turns:
        turn = imag(mul(conj(p.g[0]), sign))
        weight = add(weight, node(Op.COMPLEX, (zeros_like(turn), neg(turn))))
    m, n = a.shape[-2:]
    return (mul(spread(weight, m, n), h(inverse(a))),)


# ---------------------------------------------------------------- factorisations


def _cholesky(p: Pull) -> Found:
    """h(inverse(x)) phi(h(x) g) inverse(x) of the factor x, made Hermitian: phi keeps the lower
    triangle and half of the diagonal."""
    (x,) = p.results
    s = product(h(x), p.of(0))
    phi = add(lower(s, strictly=True), scaled(diagonal(diagonal_of(s)), 0.5))
    half = solved_triangle(h(x), phi, True)
    return (hermitian(h(solved_triangle(h(x), h(half), True))),)


def _qr(p: Pull) -> Found:
    (a,), (q, r) = p.src, p.results
    m, n = a.shape[-2:]
    if q.shape[-1] != min(m, n):
        raise errors.GradientError(
            "qr: with mode='complete', only square matrices have a gradient: the last columns of Q"
            " are not determined"
        )
    if m >= n:
        return (_tall_qr(q, r, p.of(0), p.of(1)),)
    _x, y = _columns(a, 0, m), _columns(a, m, n)  # q r = [x | y]
    u, of_u, of_v = _columns(r, 0, m), _columns(p.of(1), 0, m), _columns(p.of(1), m, n)
    of_x = _tall_qr(q, u, add(p.of(0), product(y, h(of_v))), of_u)
    return (_beside(of_x, product(q, of_v), a),)


def _tall_qr(q: Node, r: Node, of_q: Node, of_r: Node) -> Node:
    s = sub(product(r, h(of_r)), product(h(of_q), q))
    on = diagonal(lifted(real_part(diagonal_of(s)), s))
    mirrored = add(add(lower(s, True), h(lower(s, True))), on)
    total = add(of_q, product(q, mirrored))
    return h(solved_triangle(r, h(total), True))


def _columns(x: Node, start: int, stop: int) -> Node:
    whole = [(0, d, 1) for d in x.shape[:-1]]
    return node(Op.SLICE, (x,), (*whole, (start, stop, 1)))


def _beside(x: Node, y: Node, whole: Node) -> Node:
    """[x | y], of the shape of `whole`."""
    none = [(0, 0, 0)] * (x.ndim - 1)
    m, n = x.shape[-1], whole.shape[-1]
    return add(node(Op.PAD, (x,), (*none, (0, n - m, 0))), node(Op.PAD, (y,), (*none, (m, 0, 0))))


def _lu(p: Pull) -> Found:
    (a,), (perm, low, u) = p.src, p.results
    if a.shape[-2] != a.shape[-1]:
        raise errors.GradientError("lu: only square matrices have a gradient")
    middle = add(lower(product(h(low), p.of(1)), strictly=True), upper(product(p.of(2), h(u))))
    left = solved_triangle(h(low), middle, True, True)
    return (product(perm, h(solved_triangle(u, h(left), True))),)


# ---------------------------------------------------------------- eigenvalues, singular values


def _eigh(p: Pull) -> Found:
    """v (diag(gw) + (h(v) gv) / gaps) h(v), made Hermitian: so what a gap divides is a difference,
    which is small where the gap is."""
    w, v = p.results
    middle = lifted(diagonal(p.of(0)), v)
    if 1 in p.g:
        turned = scaled(skew(product(h(v), p.g[1])), 0.5)
        middle = add(middle, off_diagonal(divided(turned, differences(w))))
    return (products(v, middle, h(v)),)


def _eigvalsh(p: Pull) -> Found:
    (a,), n = p.src, p.src[0].shape[-1]
    _, v = routine("eigh", (a,), (), (n,), (n, n))
    return (product(columns_times(v, p.of(0)), h(v)),)


def _svdvals(p: Pull) -> Found:
    u, _, vh = _reduced_svd(p.src[0])
    return (product(columns_times(u, p.of(0)), vh),)


def _reduced_svd(a: Node) -> list[Node]:
    m, n = a.shape[-2:]
    k = min(m, n)
    return routine("svd", (a,), (False,), (m, k), (k,), (k, n))


def _svd(p: Pull) -> Found:
    (a,) = p.src
    m, n = a.shape[-2:]
    if 0 not in p.g and 2 not in p.g:
        return _svdvals(p._replace(g={0: p.of(1)}))
    if p.spec.params[0] and m != n:
        raise errors.GradientError(
            "svd: with full_matrices=True, only square matrices have a gradient: the last vectors"
            " are not determined; use full_matrices=False"
        )
    u, s, vh = p.results
    return (_pulled_svd(u, s, vh, p.of(0), p.of(1), h(p.of(2))),)


def _pulled_svd(u: Node, s: Node, vh: Node, of_u: Node, of_s: Node, of_v: Node) -> Node:
    v = h(vh)
    gaps = mul(differences(s), sums(s))  # s[j]**2 - s[i]**2
    turned = skew(product(h(u), of_u))
    left = columns_times(off_diagonal(divided(turned, gaps)), s)
    right = rows_times(s, off_diagonal(divided(skew(product(h(v), of_v)), gaps)))
    middle = add(add(left, right), lifted(diagonal(of_s), u))
    if u.dtype.is_complex:  # both vectors of a pair may turn together
        middle = add(middle, diagonal(divided(diagonal_of(turned), scaled(s, 2))))
    out = products(u, middle, vh)
    if u.shape[-2] > s.shape[-1]:
        scaled_u = divided(of_u, as_rows(s, of_u.shape[-2]))
        out = add(out, product(sub(scaled_u, products(u, h(u), scaled_u)), vh))
    if vh.shape[-1] > s.shape[-1]:
        scaled_v = h(divided(of_v, as_rows(s, of_v.shape[-2])))
        out = add(out, product(u, sub(scaled_v, products(scaled_v, v, vh))))
    return out


def _eig(p: Pull) -> Found:
    """inverse(h(v)) (diag(gw) + (h(v) gv - h(v) v diag(re(h(v) gv))) / conj(gaps)) h(v): vectors of
    length 1, which may turn."""
    (a,), (w, v) = p.src, p.results
    middle = diagonal(p.of(0))
    if 1 in p.g:
        own = product(h(v), p.g[1])
        along = product(h(v), columns_times(v, real_part(diagonal_of(own))))
        turned = off_diagonal(sub(own, along))
        gaps = differences(w)
        size = add(mul(real_part(gaps), real_part(gaps)), mul(imag(gaps), imag(gaps)))
        middle = add(middle, divided(mul(turned, gaps), size))
    out = solved(h(v), product(middle, h(v)))
    return (out if a.dtype.is_complex else real_part(out),)


def _eigvals(p: Pull) -> Found:
    (a,), n = p.src, p.src[0].shape[-1]
    return _eig(p._replace(results=complex_routine("eig", a, (n,), (n, n))))


# ---------------------------------------------------------------- Fourier transforms


def _fft(p: Pull) -> Found:
    """The transform back: the matrix is symmetric."""
    core, forward, *axes = p.spec.params
    g = p.of(0)
    back = Routine("fft", (core, not forward, *axes), ((g.dtype, g.shape),))
    return (node(Op.ROUTINE, (g,), (back, 0)),)


def _rfft(p: Pull) -> Found:
    """The real part of the transform back of g, zeros in the other half."""
    core, _, axis = p.spec.params
    (x,), g = p.src, p.of(0)
    place = g.ndim + int(axis)
    margins = [(0, x.shape[a] - g.shape[a] if a == place else 0, 0) for a in range(g.ndim)]
    whole = node(Op.PAD, (g,), tuple(margins))
    back = Routine("fft", (core, False, axis), ((g.dtype, x.shape),))
    return (real_part(node(Op.ROUTINE, (whole,), (back, 0))),)


def _irfft(p: Pull) -> Found:
    """The transform of g; what stands for two numbers counts twice."""
    core, n, axis = p.spec.params
    (x,), g = p.src, p.of(0)
    place = x.ndim + int(axis)
    half = Routine("rfft", (core, n, axis), ((x.dtype, x.shape),))
    out = node(Op.ROUTINE, (g,), (half, 0))
    others = [(a, d) for a, d in enumerate(x.shape) if a != place]
    at = expand(node(Op.IOTA, (), x.shape[place]), tuple(others))
    last = full((int(n) + 1) // 2, at.dtype, at.shape)
    is_twice = node(Op.AND, (lt(zeros_like(at), at), lt(at, last)))
    return (where(is_twice, scaled(out, 2), out),)


RULES: dict[str, Callable[[Pull], Found]] = {
    "cholesky": _cholesky,
    "solve": _solve,
    "solve_triangular": _solve_triangular,
    "inv": _inv,
    "det": _det,
    "slogdet": _slogdet,
    "cofactor": _cofactor,
    "eig": _eig,
    "eigvals": _eigvals,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "svd": _svd,
    "svdvals": _svdvals,
    "qr": _qr,
    "pinv": _pinv,
    "lu": _lu,
    "fft": _fft,
    "rfft": _rfft,
    "irfft": _irfft,
}
