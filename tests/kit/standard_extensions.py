"""The extensions linalg and fft of the Array API standard 2024.12 as tables. Out: signatures,
dtypes in and out, the names of results.

Sources: https://data-apis.org/array-api/2024.12/extensions/linear_algebra_functions.html and
fourier_transform_functions.html there.
"""

from __future__ import annotations

# name: (signature, category of the operands, what each result is)
# "same": the dtype of the operands, "part": of their real parts, "complex": complex of that width
LINALG = {
    "cholesky": ("(x, /, *, upper=False)", "inexact", "same"),
    "cross": ("(x1, x2, /, *, axis=-1)", "numeric", "same"),
    "det": ("(x, /)", "inexact", "same"),
    "diagonal": ("(x, /, *, offset=0)", "any", "same"),
    "eigh": ("(x, /)", "inexact", "part same"),
    "eigvalsh": ("(x, /)", "inexact", "part"),
    "inv": ("(x, /)", "inexact", "same"),
    "matmul": ("(x1, x2, /)", "numeric", "same"),
    "matrix_norm": ("(x, /, *, keepdims=False, ord='fro')", "inexact", "part"),
    "matrix_power": ("(x, n, /)", "inexact", "same"),
    "matrix_rank": ("(x, /, *, rtol=None)", "inexact", "int64"),
    "matrix_transpose": ("(x, /)", "any", "same"),
    "outer": ("(x1, x2, /)", "numeric", "same"),
    "pinv": ("(x, /, *, rtol=None)", "inexact", "same"),
    "qr": ("(x, /, *, mode='reduced')", "inexact", "same same"),
    "slogdet": ("(x, /)", "inexact", "same part"),
    "solve": ("(x1, x2, /)", "inexact", "same"),
    "svd": ("(x, /, *, full_matrices=True)", "inexact", "same part same"),
    "svdvals": ("(x, /)", "inexact", "part"),
    "tensordot": ("(x1, x2, /, *, axes=2)", "numeric", "same"),
    "trace": ("(x, /, *, offset=0, dtype=None)", "inexact", "same"),
    "vecdot": ("(x1, x2, /, *, axis=-1)", "numeric", "same"),
    "vector_norm": ("(x, /, *, axis=None, keepdims=False, ord=2)", "inexact", "part"),
}
_ALONG_ONE = "(x, /, *, n=None, axis=-1, norm='backward')"
_ALONG_SEVERAL = "(x, /, *, s=None, axes=None, norm='backward')"
FFT = {
    "fft": (_ALONG_ONE, "inexact", "complex"),
    "ifft": (_ALONG_ONE, "inexact", "complex"),
    "rfft": (_ALONG_ONE, "floating", "complex"),
    "irfft": (_ALONG_ONE, "complex", "part"),
    "hfft": (_ALONG_ONE, "complex", "part"),
    "ihfft": (_ALONG_ONE, "floating", "complex"),
    "fftn": (_ALONG_SEVERAL, "inexact", "complex"),
    "ifftn": (_ALONG_SEVERAL, "inexact", "complex"),
    "rfftn": (_ALONG_SEVERAL, "floating", "complex"),
    "irfftn": (_ALONG_SEVERAL, "complex", "part"),
    "fftshift": ("(x, /, *, axes=None)", "inexact", "same"),
    "ifftshift": ("(x, /, *, axes=None)", "inexact", "same"),
    "fftfreq": ("(n, /, *, d=1.0, dtype=None, device=None)", "", "float"),
    "rfftfreq": ("(n, /, *, d=1.0, dtype=None, device=None)", "", "float"),
}
EXTENSIONS = {"linalg": LINALG, "fft": FFT}
FIELDS = {
    "eigh": ("eigenvalues", "eigenvectors"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "Vh"),
}
