"""erf. In: a float32 or float64 Val. Out: the same function in basic ops."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import dtype as dt
from .build import Val, absolute, at_most, fma, horner, sign_bit, where, with_sign
from .exp import exp_parts, power_of_two


@dataclass(frozen=True)
class _Erf:
    """erf(t) = t + t*near(t*t) below `split`, else 1 - exp(-t - t*far(t)); 1 from `one` on."""

    split: float
    one: float
    near: tuple[float, ...]
    far: tuple[float, ...]


# float32: N. Juffa's erff (stackoverflow.com/questions/35148198). float64: own minimax fits, both with error below 2**-56 of erf.
_ERF = {
    dt.float32: _Erf(
        0.927734375,
        4.0,
        (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1),
        (1.72853470e-5, -3.83197126e-4, 3.88396438e-3, -2.42546219e-2, 1.06777877e-1, 6.34846687e-1, 1.28717512e-1),
    ),
    dt.float64: _Erf(
        1.0,
        5.95,
        (
            -7.779476958662301e-10, 1.3710985174677756e-08, -1.6206314918366408e-07, 1.6447131729844338e-06,
            -1.4924712315407374e-05, 0.00012055293577623584, -0.0008548325929339359, 0.005223977606119001,
            -0.02686617064311153, 0.11283791670944185, -0.3761263890318352, 0.12837916709551256,
        ),
        (
            -1.5188799727349643e-12, 6.744920163980245e-11, -1.4024572841001583e-09, 1.8131178203082888e-08,
            -1.6302732154803936e-07, 1.07814585201431e-06, -5.385305726102219e-06, 2.0351518393335157e-05,
            -5.603879640587916e-05, 9.548686863982706e-05, -9.750659715108836e-07, -0.0005746586711147736,
            0.0016926080666256921, -0.00021203665067620205, -0.019124964486472308, 0.10277082698017566,
            0.6366202527082228, 0.128379110854376,
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
