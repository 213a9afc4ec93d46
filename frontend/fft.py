"""Functions of `wf.fft`. In: Tensors, or what makes them. Out: lazy Tensors.

All names and signatures of the extension `fft` of the Array API standard 2024.12, and what users of
NumPy and PyTorch know besides. Transforms are computed by NumPy's pocketfft, inside the programs
that they are part of.
"""

from __future__ import annotations

from .fourier import shifts as _shifts
from .fourier import transforms as _transforms
from .tensor import frequencies as _frequencies
from .tensor.binding import function as _function
from .tensor.names_elsewhere import public as _public

fft, ifft, rfft, irfft = map(
    _function, (_transforms.fft, _transforms.ifft, _transforms.rfft, _transforms.irfft)
)
fftn, ifftn, rfftn, irfftn = map(
    _function, (_transforms.fftn, _transforms.ifftn, _transforms.rfftn, _transforms.irfftn)
)
hfft, ihfft = map(_function, (_transforms.hfft, _transforms.ihfft))
fftshift, ifftshift = map(_function, (_shifts.fftshift, _shifts.ifftshift))
fftfreq, rfftfreq = _frequencies.fftfreq, _frequencies.rfftfreq

globals()["__all__"] = _public(globals())
