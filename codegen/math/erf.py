"""erf and its inverse. In: a float32 or float64 Val. Out: the same function in basic ops."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from .build import (
    Val,
    absolute,
    at_most,
    choose,
    fma,
    horner,
    in_double,
    number,
    sign_bit,
    sqrt,
    where,
    with_sign,
)
from .exp import exp_parts, power_of_two
from .hyper import at_one_or_beyond
from .log import log


@dataclass(frozen=True)
class _Erf:
    """erf(t) = t + t*near(t*t) below `split`, else 1 - exp(-t - t*far(t)); 1 from `one` on."""

    split: float
    one: float
    near: tuple[float, ...]
    far: tuple[float, ...]


# float32: N. Juffa's erff (stackoverflow.com/questions/35148198). float64: own minimax fits, both
# with error below 2**-56 of erf.
_ERF = {
    dt.float32: _Erf(
        0.927734375,
        4.0,
        (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1,
            1.28379166e-1),
        (1.72853470e-5, -3.83197126e-4, 3.88396438e-3, -2.42546219e-2, 1.06777877e-1, 6.34846687e-1,
            1.28717512e-1),
    ),
    dt.float64: _Erf(
        1.0,
        5.95,
        (
            -7.779476958662301e-10, 1.3710985174677756e-08, -1.6206314918366408e-07,
            1.6447131729844338e-06, -1.4924712315407374e-05, 0.00012055293577623584,
            -0.0008548325929339359, 0.005223977606119001, -0.02686617064311153, 0.11283791670944185,
            -0.3761263890318352, 0.12837916709551256,
        ),
        (
            -1.5188799727349643e-12, 6.744920163980245e-11, -1.4024572841001583e-09,
            1.8131178203082888e-08, -1.6302732154803936e-07, 1.07814585201431e-06,
            -5.385305726102219e-06, 2.0351518393335157e-05, -5.603879640587916e-05,
            9.548686863982706e-05, -9.750659715108836e-07, -0.0005746586711147736,
            0.0016926080666256921, -0.00021203665067620205, -0.019124964486472308,
            0.10277082698017566, 0.6366202527082228, 0.128379110854376,
        ),
    ),
}  # fmt: skip


def erf(x: Val) -> Val:
    c = _ERF[x.dtype]
    t = at_most(absolute(x), c.one)
    near = fma(horner(t * t, c.near), t, t)
    p, shifted = exp_parts(-fma(horner(t, c.far), t, t))
    far = fma(-p, power_of_two(shifted), 1.0)
    return with_sign(where(t < c.split, near, far), sign_bit(x))


@dataclass(frozen=True)
class _Inverse:
    """erfinv(x) by w = -log(1 - x*x), s = sqrt(w): x + x * near(w) for w below `split`, else s +
    far(s - start).

    near and far are quotients of polynomials.
    """

    split: float
    start: float
    near: tuple[tuple[float, ...], tuple[float, ...]]
    far: tuple[tuple[float, ...], tuple[float, ...]]


# Minimax fits, error 2**-28 and 2**-55 of erfinv.
_ERFINV = {
    dt.float32: _Inverse(
        5.0,
        2.1875,
        (
            (0.0003423592809241354, 0.004683608654930039, 0.028665669753105014, 0.22213027104759342,
                -0.11377307186713004),
            (4.333125221373439e-05, 0.001583945713902528, 0.02671150827193305, 0.08686841258116751,
                1.0),
        ),
        (
            (-0.0008257998413126359, -0.03496811870208336, -0.11050929650006257,
                -0.1758541232595621, -0.16244717834202047),
            (0.027063742737165948, 0.2153746432775009, 0.6966262813508488, 0.9718301462201288, 1.0),
        ),
    ),
    dt.float64: _Inverse(
        7.75,
        2.75,
        (
            (
                2.653016375717389e-10, 2.053821040992618e-08, 6.854089371011558e-07,
                1.0859216781153824e-05, 0.00015885816259930677, 0.0010722407297369685,
                0.010799587400582138, 0.025980114463578976, 0.22192063197432807,
                -0.11377307454724202,
            ),
            (
                4.771399671884997e-12, 3.77792172822128e-09, 1.254596421835564e-07,
                4.731915675506717e-06, 4.563180105866134e-05, 0.0009091286725092739,
                0.0038204913410562207, 0.054069198987129106, 0.08871197865131397, 1.0,
            ),
        ),
        (
            (
                -2.165872082790278e-07, -6.543094089253709e-05, -0.0009534019258532877,
                -0.005230011183682588, -0.019326967220388923, -0.05231986460174508,
                -0.11011118106649712, -0.18065230890446082, -0.20229330178555863,
                -0.1673773857666287,
            ),
            (
                3.167699016749436e-05, 0.0008806209172080673, 0.007725304044452068,
                0.0387084244621909, 0.1307179568691718, 0.3474158084578409, 0.6906420040486997,
                1.127766942277469, 1.1997588251795104, 1.0,
            ),
        ),
    ),
}  # fmt: skip


def erfinv(x: Val) -> Val:
    """Infinite at -1 and 1, NaN outside."""
    return in_double(_erfinv, x)


def _erfinv(x: Val, to: DType) -> Val:
    c = _ERFINV[to]
    t = absolute(x)
    w = -log((1.0 - t) * (t + 1.0))
    s = sqrt(w)
    is_near = w < c.split
    u = where(is_near, w, s - c.start)
    above, under = (_chosen(u, is_near, near, far) for near, far in zip(c.near, c.far, strict=True))
    y = fma(where(is_near, t, number(1.0, x.dtype)), above / under, where(is_near, t, s))
    return with_sign(where(t < 1.0, y, at_one_or_beyond(t)), sign_bit(x))


def _chosen(u: Val, is_near: Val, near: tuple[float, ...], far: tuple[float, ...]) -> Val:
    """The one polynomial or the other, highest power first."""
    total, *rest = (choose(is_near, a, b, u.dtype) for a, b in zip(near, far, strict=True))
    for coefficient in rest:
        total = fma(total, u, coefficient)
    return total
