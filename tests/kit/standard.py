"""The Python Array API standard 2024.12 as tables: signatures, dtypes in and out. In: a namespace.
Out: a list of deviations.

Source: https://data-apis.org/array-api/2024.12/API_specification. The tables of its extensions are
in standard_extensions.py. `python tests/kit/standard.py` prints the report.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from standard_extensions import EXTENSIONS, FIELDS

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
FLOATING = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
PARTS = dict(zip(COMPLEX, FLOATING, strict=True))
REAL = INTEGER + FLOATING
EVERY = ("bool", *REAL, *COMPLEX)
CATEGORIES = {
    "any": EVERY,
    "numeric": REAL + COMPLEX,
    "real": REAL,
    "inexact": FLOATING + COMPLEX,
    "floating": FLOATING,
    "complex": COMPLEX,
    "integer": INTEGER,
    "integer or bool": ("bool", *INTEGER),
    "integer or complex": INTEGER + COMPLEX,
    "bool": ("bool",),
}
CONSTANTS = {
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
    "pi": 3.141592653589793,
}

# category of the operands, names, and what the result is: "same" is the promoted dtype, "part" that
# of its real parts
_ONE_OPERAND = [
    ("real", "same", "ceil floor trunc"),
    ("numeric", "same", "conj negative positive round sign square"),
    ("numeric", "part", "abs real"),
    ("complex", "part", "imag"),
    ("inexact", "same", "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2"),
    ("inexact", "same", "reciprocal sin sinh sqrt tan tanh"),
    ("numeric", "bool", "isfinite isinf isnan"),
    ("floating", "bool", "signbit"),
    ("integer or bool", "same", "bitwise_invert"),
    ("bool", "bool", "logical_not"),
]
_TWO_OPERANDS = [
    ("numeric", "same", "add multiply pow subtract"),
    ("real", "same", "floor_divide maximum minimum remainder"),
    ("inexact", "same", "divide"),
    ("floating", "same", "atan2 copysign hypot logaddexp nextafter"),
    ("integer", "same", "bitwise_left_shift bitwise_right_shift"),
    ("integer or bool", "same", "bitwise_and bitwise_or bitwise_xor"),
    ("any", "bool", "equal not_equal"),
    ("real", "bool", "greater greater_equal less less_equal"),
    ("bool", "bool", "logical_and logical_or logical_xor"),
]


def _by_name(groups: list[tuple[str, str, str]]) -> dict[str, tuple[tuple[str, ...], str]]:
    """name -> (dtypes of the operands, "same", "part" or "bool")."""
    return {
        name: (CATEGORIES[category], result)
        for category, result, names in groups
        for name in names.split()
    }


ONE_OPERAND = _by_name(_ONE_OPERAND)
TWO_OPERANDS = _by_name(_TWO_OPERANDS)

OTHERS = {
    # creation
    "arange": "(start, /, stop=None, step=1, *, dtype=None, device=None)",
    "asarray": "(obj, /, *, dtype=None, device=None, copy=None)",
    "empty": "(shape, *, dtype=None, device=None)",
    "empty_like": "(x, /, *, dtype=None, device=None)",
    "eye": "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "from_dlpack": "(x, /, *, device=None, copy=None)",
    "full": "(shape, fill_value, *, dtype=None, device=None)",
    "full_like": "(x, /, fill_value, *, dtype=None, device=None)",
    "linspace": "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    "meshgrid": "(*arrays, indexing='xy')",
    "ones": "(shape, *, dtype=None, device=None)",
    "ones_like": "(x, /, *, dtype=None, device=None)",
    "tril": "(x, /, *, k=0)",
    "triu": "(x, /, *, k=0)",
    "zeros": "(shape, *, dtype=None, device=None)",
    "zeros_like": "(x, /, *, dtype=None, device=None)",
    # data types
    "astype": "(x, dtype, /, *, copy=True, device=None)",
    "can_cast": "(from_, to, /)",
    "finfo": "(type, /)",
    "iinfo": "(type, /)",
    "isdtype": "(dtype, kind)",
    "result_type": "(*arrays_and_dtypes)",
    # elementwise with more to say
    "clip": "(x, /, min=None, max=None)",
    # indexing
    "take": "(x, indices, /, *, axis=None)",
    "take_along_axis": "(x, indices, /, *, axis=-1)",
    # inspection
    "__array_namespace_info__": "()",
    # linear algebra
    "matmul": "(x1, x2, /)",
    "matrix_transpose": "(x, /)",
    "tensordot": "(x1, x2, /, *, axes=2)",
    "vecdot": "(x1, x2, /, *, axis=-1)",
    # manipulation
    "broadcast_arrays": "(*arrays)",
    "broadcast_to": "(x, /, shape)",
    "concat": "(arrays, /, *, axis=0)",
    "expand_dims": "(x, /, axis=0)",  # the axis by place is an erratum to all versions
    "flip": "(x, /, *, axis=None)",
    "moveaxis": "(x, source, destination, /)",
    "permute_dims": "(x, /, axes)",
    "repeat": "(x, repeats, /, *, axis=None)",
    "reshape": "(x, /, shape, *, copy=None)",
    "roll": "(x, /, shift, *, axis=None)",
    "squeeze": "(x, /, axis)",
    "stack": "(arrays, /, *, axis=0)",
    "tile": "(x, repetitions, /)",
    "unstack": "(x, /, *, axis=0)",
    # searching
    "argmax": "(x, /, *, axis=None, keepdims=False)",
    "argmin": "(x, /, *, axis=None, keepdims=False)",
    "count_nonzero": "(x, /, *, axis=None, keepdims=False)",
    "nonzero": "(x, /)",
    "searchsorted": "(x1, x2, /, *, side='left', sorter=None)",
    "where": "(condition, x1, x2, /)",
    # sets
    "unique_all": "(x, /)",
    "unique_counts": "(x, /)",
    "unique_inverse": "(x, /)",
    "unique_values": "(x, /)",
    # sorting
    "argsort": "(x, /, *, axis=-1, descending=False, stable=True)",
    "sort": "(x, /, *, axis=-1, descending=False, stable=True)",
    # statistics
    "cumulative_prod": "(x, /, *, axis=None, dtype=None, include_initial=False)",
    "cumulative_sum": "(x, /, *, axis=None, dtype=None, include_initial=False)",
    "max": "(x, /, *, axis=None, keepdims=False)",
    "mean": "(x, /, *, axis=None, keepdims=False)",
    "min": "(x, /, *, axis=None, keepdims=False)",
    "prod": "(x, /, *, axis=None, dtype=None, keepdims=False)",
    "std": "(x, /, *, axis=None, correction=0.0, keepdims=False)",
    "sum": "(x, /, *, axis=None, dtype=None, keepdims=False)",
    "var": "(x, /, *, axis=None, correction=0.0, keepdims=False)",
    # utility
    "all": "(x, /, *, axis=None, keepdims=False)",
    "any": "(x, /, *, axis=None, keepdims=False)",
    "diff": "(x, /, *, axis=-1, n=1, prepend=None, append=None)",
}

SIGNATURES: dict[str, str] = (
    dict.fromkeys(ONE_OPERAND, "(x, /)") | dict.fromkeys(TWO_OPERANDS, "(x1, x2, /)") | OTHERS
)

ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")
OPERATORS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
METHODS = {
    "__array_namespace__": "(*, api_version=None)",
    "__dlpack__": "(*, stream=None, max_version=None, dl_device=None, copy=None)",
    "__dlpack_device__": "()",
    "__getitem__": "(key, /)",
    "__setitem__": "(key, value, /)",
    "to_device": "(device, /, *, stream=None)",
}
_OF_ONE = ("abs", "bool", "complex", "float", "index", "int", "invert", "neg", "pos")
METHODS |= {f"__{name}__": "()" for name in _OF_ONE}
METHODS |= {f"__{name}__": "(other, /)" for name in ("eq", "ge", "gt", "le", "lt", "ne")}
METHODS |= {f"__{prefix}{name}__": "(other, /)" for name in OPERATORS for prefix in ("", "r", "i")}


def parameters(signature: str) -> list[inspect.Parameter]:
    """The parameters of a signature written as text."""
    scope: dict[str, Any] = {}
    exec(f"def f{signature}: pass", scope)
    return list(inspect.signature(scope["f"]).parameters.values())


def signature_deviation(function: Callable[..., Any], signature: str) -> str | None:
    """What differs from the standard's signature: names, kinds, order and defaults; more
    keyword-only parameters are allowed."""
    wanted = parameters(signature)
    found = list(inspect.signature(function).parameters.values())
    shared = [
        p for p in found if p.name in {w.name for w in wanted} or p.kind is not p.KEYWORD_ONLY
    ]
    if [(p.name, p.kind) for p in shared] != [(p.name, p.kind) for p in wanted]:
        return f"{inspect.signature(function)} instead of {signature}"
    for p, w in zip(shared, wanted, strict=True):
        if p.default is not w.default and p.default != w.default:
            return f"default of {p.name} is {p.default} instead of {w.default}"
    return None


def missing_names(xp: Any) -> Iterator[str]:
    """The standard's names that the namespace lacks."""
    for name in [*SIGNATURES, *CONSTANTS, *EVERY, "__array_api_version__"]:
        if not hasattr(xp, name):
            yield name


def missing_members(array: Any) -> Iterator[str]:
    """The standard's attributes and methods that the array object lacks."""
    return (name for name in [*ATTRIBUTES, *METHODS] if not hasattr(array, name))


def signature_deviations(owner: Any, signatures: dict[str, str]) -> Iterator[str]:
    for name, signature in signatures.items():
        why = signature_deviation(getattr(owner, name), signature) if hasattr(owner, name) else None
        if why is not None:
            yield f"{name}: {why}"


def _operands(xp: Any, names: tuple[str, ...]) -> list[Any]:
    return [xp.asarray([1, 0, 1], dtype=getattr(xp, name)) for name in names]


def promoted(a: str, b: str) -> str | None:
    """The dtype in which two meet by the standard's table, or None where it leaves that open."""
    if a == b:
        return a
    every = (("bool",), SIGNED, UNSIGNED, FLOATING, COMPLEX)
    kinds = [next(k for k in every if n in k) for n in (a, b)]
    if kinds[0] == kinds[1]:
        return max(a, b, key=kinds[0].index)
    if {kinds[0], kinds[1]} == {FLOATING, COMPLEX}:
        return COMPLEX[max((k.index(n) for k, n in zip(kinds, (a, b), strict=True)))]
    if {kinds[0], kinds[1]} == {SIGNED, UNSIGNED}:
        signed, unsigned = (a, b) if kinds[0] is SIGNED else (b, a)
        step = max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)
        return SIGNED[step] if step < len(SIGNED) else None
    return None


def dtype_deviations(xp: Any) -> Iterator[str]:
    """Elementwise functions whose result dtype is not the standard's, over every dtype and pair of
    dtypes."""
    for name, (dtypes, result) in ONE_OPERAND.items():
        for a in dtypes:
            found = getattr(xp, name)(*_operands(xp, (a,))).dtype
            if found != getattr(xp, dtype_of_result(result, a)):
                yield f"{name}({a}) -> {found}"
    for name, (dtypes, result) in TWO_OPERANDS.items():
        for a in dtypes:
            for b in dtypes:
                wanted = promoted(a, b)
                if wanted is None:
                    continue
                found = getattr(xp, name)(*_operands(xp, (a, b))).dtype
                if found != getattr(xp, dtype_of_result(result, wanted)):
                    yield f"{name}({a}, {b}) -> {found}"


def dtype_of_result(result: str, operand: str) -> str:
    """The name of the dtype that a word of the tables stands for."""
    if result == "complex":
        return operand if operand in COMPLEX else COMPLEX[FLOATING.index(operand)]
    return {"same": operand, "part": PARTS.get(operand, operand)}.get(result, result)


# ---------------------------------------------------------------- extensions


def missing_names_of_extensions(xp: Any) -> Iterator[str]:
    """The names that an extension of the namespace lacks."""
    for extension, table in EXTENSIONS.items():
        space = getattr(xp, extension, None)
        yield from (f"{extension}.{name}" for name in table if not hasattr(space, name))


def signature_deviations_of_extensions(xp: Any) -> Iterator[str]:
    for extension, table in EXTENSIONS.items():
        signatures = {name: signature for name, (signature, _, _) in table.items()}
        yield from signature_deviations(getattr(xp, extension), signatures)


def _operands_of(xp: Any, name: str, signature: str, dtypes: tuple[str, ...]) -> list[Any]:
    """Vectors for cross and outer, else a matrix of each dtype."""
    data = [1, 0, 1] if name in ("cross", "outer") else [[2, 1], [1, 2]]
    return [
        *(xp.asarray(data, dtype=getattr(xp, d)) for d in dtypes),
        *[2] * signature.startswith("(x, n, /"),
    ]


def result_deviations_of_extensions(xp: Any) -> Iterator[str]:
    """Functions whose results have other dtypes or names than the standard's."""
    for extension, table in EXTENSIONS.items():
        for name, (signature, category, results) in table.items():
            count = 2 if "x2" in signature else 1
            for dtypes in product(CATEGORIES.get(category, ()), repeat=count):
                wanted = dtypes[0] if count == 1 else promoted(*dtypes)
                if wanted is None:
                    continue
                operands = _operands_of(xp, name, signature, dtypes)
                made = getattr(getattr(xp, extension), name)(*operands)
                found = made if isinstance(made, tuple) else (made,)
                words = [dtype_of_result(word, wanted) for word in results.split()]
                if [r.dtype for r in found] != [getattr(xp, word) for word in words]:
                    yield f"{extension}.{name}{dtypes} -> {[str(r.dtype) for r in found]}"
                if getattr(made, "_fields", None) != FIELDS.get(name):
                    yield f"{extension}.{name} -> {type(made).__name__}"


def report(xp: Any) -> dict[str, list[str]]:
    """Every deviation, by kind."""
    array = xp.ones((2, 2))
    return {
        "missing names": [*missing_names(xp), *missing_names_of_extensions(xp)],
        "missing members of the array": list(missing_members(array)),
        "signatures": [
            *signature_deviations(xp, SIGNATURES),
            *signature_deviations(array, METHODS),
            *signature_deviations_of_extensions(xp),
        ],
        "results of extensions": list(result_deviations_of_extensions(xp)),
        "dtypes": (
            list(dtype_deviations(xp))
            if not list(missing_names(xp))
            else ["not looked at: names are missing"]
        ),
    }


def main() -> None:
    from weft import array_api

    members = len(ATTRIBUTES) + len(METHODS)
    more = sum(map(len, EXTENSIONS.values()))
    print(
        f"{len(SIGNATURES)} functions and {more} of extensions, {len(CONSTANTS)} constants,"
        f" {len(EVERY)} dtypes, {members} members of the array"
    )
    for kind, deviations in report(array_api).items():
        print(f"{kind}: {len(deviations) or 'none'}")
        for line in deviations:
            print(f"  {line}")


if __name__ == "__main__":
    main()
