"""Transforms of images while they are loaded. In: NumPy arrays, one image or a batch. Out: arrays.

torchvision's names and meaning: images are (..., H, W), those read from files (H, W) or (H, W, C)
uint8 until `ToTensor`. A data set with `transform=` calls `batch` with all images of a batch.
Random transforms draw from Weft's generator; in a DataLoader what is drawn depends on the number of
the batch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ... import errors
from ...frontend.operands.arguments import (
    as_bool,
    as_choice,
    as_double,
    as_fraction,
    as_function,
    as_ints,
    as_real,
    as_sequence,
)
from ...frontend.tensor import random
from ...ir.graph.brief import brief
from .collate import as_array, stacked
from .idx import Array

__all__ = [
    "Compose",
    "Lambda",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "ToTensor",
    "Transform",
]

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


class Transform:
    """The base of transforms of images: `batch(images)` is defined for (N, ...), and one image is a
    batch of one.

    >>> class Negative(nn.data.transforms.Transform):
    ...     def batch(self, images): return 255 - images
    >>> Negative()([[0, 255]]).tolist()
    [[255, 0]]
    """

    def batch(self, images: Any) -> Any:
        """The transforms of images (N, ...); a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no batch()")

    def __call__(self, image: Any) -> Any:
        return self.batch(as_array(type(self).__name__, "the image", image)[None])[0]


def _images(name: str, images: Any) -> Array:
    """An array of images (N, ...)."""
    array = as_array(name, "images", images)
    if not array.ndim:
        raise errors.ShapeError(f"{name}: images must be (N, ...), not {brief(images)}")
    return array


def in_batch(transform: Any, images: Array) -> Any:
    """The transforms of a batch: at once if the transform has a method for it, else one by one."""
    return (
        transform.batch(images)
        if hasattr(transform, "batch")
        else stacked([transform(image) for image in images])
    )


class Compose(Transform):
    """Transforms, or any functions of an image, one after the other.

    >>> T = nn.data.transforms
    >>> pixels = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])
    >>> pixels(wf.tensor([[0, 255]], dtype="uint8")).tolist()
    [[[-1.0, 1.0]]]
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        steps = as_sequence("Compose", "transforms", transforms)
        self.transforms = [as_function("Compose", "each of transforms", t) for t in steps]

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def batch(self, images: Any) -> Any:
        for transform in self.transforms:
            images = in_batch(transform, images)
        return images

    def __repr__(self) -> str:
        return f"Compose({self.transforms})"


class Lambda:
    """A function of one image as a transform.

    >>> nn.data.transforms.Lambda(lambda image: image + 1)(2)
    3
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        self.lambd = as_function("Lambda", "lambd", lambd)

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)

    def __repr__(self) -> str:
        return f"Lambda({getattr(self.lambd, '__name__', self.lambd)})"


class ToTensor(Transform):
    """Images (H, W) or (H, W, C) as (C, H, W); uint8 from 0 to 255 as float32 from 0 to 1, other
    values as they are.

    The result is an array, which a DataLoader makes a Tensor of. Raises ShapeError for other
    shapes.

    >>> image = nn.data.transforms.ToTensor()(wf.full((28, 28, 3), 51, dtype="uint8"))
    >>> image.shape, image[0, 0, 0].item()
    ((3, 28, 28), 0.20000000298023224)
    """

    def batch(self, images: Any) -> Array:
        images = _images("ToTensor", images)
        if images.ndim not in (3, 4):
            raise errors.ShapeError(
                f"ToTensor: an image must be (H, W) or (H, W, C), not {images.shape[1:]}"
            )
        planes = (
            images[:, None]
            if images.ndim == 3
            else np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        )
        return planes / np.float32(255) if planes.dtype == np.uint8 else planes

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize(Transform):
    """(x - mean) / std for float images (..., C, H, W); mean and std have one number for each
    channel, or one for all.

    Raises DTypeError for images of integers, ShapeError for another number of channels,
    ArgumentError for a std of 0.

    >>> nn.data.transforms.Normalize((0.0, 1.0), (1.0, 2.0))(wf.ones(2, 1, 1)).ravel().tolist()
    [1.0, 0.0]
    """

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = _per_channel("mean", mean), _per_channel("std", std)
        if 0.0 in self.std:
            raise errors.ArgumentError(f"Normalize: std is not 0, unlike one of {self.std}")

    def batch(self, images: Any) -> Array:
        images = _images("Normalize", images)
        if images.dtype.kind != "f":
            raise errors.DTypeError(
                f"Normalize: images must be floats, not {images.dtype}: ToTensor makes floats of"
                " uint8"
            )
        channels = images.shape[-3] if images.ndim >= 4 else None
        if channels is None or {len(self.mean), len(self.std)} - {1, channels}:
            numbers = max(len(self.mean), len(self.std))
            raise errors.ShapeError(
                f"Normalize: {numbers} channels do not fit an image of shape {images.shape[1:]}"
            )
        mean, std = (np.array(x, images.dtype).reshape(-1, 1, 1) for x in (self.mean, self.std))
        out: Array = images - mean
        out /= std
        return out

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


def _per_channel(what: str, value: Any) -> tuple[float, ...]:
    numbers = as_sequence("Normalize", what, value) if hasattr(value, "__iter__") else [value]
    return tuple(as_double("Normalize", f"each of {what}", x) for x in numbers)


class RandomHorizontalFlip(Transform):
    """Each image (..., H, W) mirrored from left to right with probability p.

    >>> nn.data.transforms.RandomHorizontalFlip(p=1)([[1, 2, 3]]).tolist()
    [[3, 2, 1]]
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = as_fraction("RandomHorizontalFlip", "p", p)

    def batch(self, images: Any) -> Array:
        images = _images("RandomHorizontalFlip", images)
        if images.ndim < 3:
            raise errors.ShapeError(
                f"RandomHorizontalFlip: an image must be (..., H, W), not {images.shape[1:]}"
            )
        flipped = (random.host_words(len(images)) >> np.uint64(11)) * 2.0**-53 < self.p
        out: Array = images.copy()
        out[flipped] = images[flipped, ..., ::-1]
        return out

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


class RandomCrop(Transform):
    """A part of size (h, w), or (size, size), at a random place of each image (..., H, W), bordered
    before by `padding`.

    padding: one width for all sides, (left and right, top and bottom), or (left, top, right,
    bottom), filled with `fill` or as `padding_mode` says: "constant", "edge", "reflect" or
    "symmetric". With `pad_if_needed` an image that is too small is bordered on both sides by what
    it lacks. Raises ShapeError if it is too small.

    >>> nn.data.transforms.RandomCrop(28, padding=4)(wf.zeros(1, 28, 28)).shape
    (1, 28, 28)
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size, self.padding = as_ints("RandomCrop", "size", size, 2), _sides(padding)
        self.pad_if_needed = as_bool("RandomCrop", "pad_if_needed", pad_if_needed)
        self.fill = as_real("RandomCrop", "fill", fill)
        self.padding_mode = as_choice("RandomCrop", "padding_mode", padding_mode, PADDING_MODES)
        if min(self.size) < 1:
            raise errors.ArgumentError(f"RandomCrop: size must be at least 1, not {brief(size)}")

    def batch(self, images: Any) -> Array:
        images = _images("RandomCrop", images)
        if images.ndim < 3:
            raise errors.ShapeError(
                f"RandomCrop: an image must be (..., H, W), not {images.shape[1:]}"
            )
        images = self._bordered(images)
        count, (height, width) = len(images), self.size
        free = images.shape[-2] - height + 1, images.shape[-1] - width + 1
        if min(free) < 1:
            raise errors.ShapeError(
                f"RandomCrop: an image of {images.shape[-2:]} has no part of {self.size}:"
                " pad_if_needed=True"
            )
        words = random.host_words(2 * count).reshape(2, count)
        top, left = (words[axis] % np.uint64(free[axis]) for axis in (0, 1))
        places = sliding_window_view(images, self.size, axis=(-2, -1))
        return places[np.arange(count), ..., top, left, :, :]

    def _bordered(self, images: Array) -> Array:
        left, top, right, bottom = self.padding
        if self.pad_if_needed:
            lacking_height = max(0, self.size[0] - images.shape[-2] - top - bottom)
            lacking_width = max(0, self.size[1] - images.shape[-1] - left - right)
            top, bottom, left, right = (
                top + lacking_height,
                bottom + lacking_height,
                left + lacking_width,
                right + lacking_width,
            )
        if not any((left, top, right, bottom)):
            return images
        if self.padding_mode != "constant":
            return np.pad(
                images,
                [(0, 0)] * (images.ndim - 2) + [(top, bottom), (left, right)],
                self.padding_mode,
            )  # type: ignore[call-overload,no-any-return]
        height, width = images.shape[-2:]
        out = np.full(
            (*images.shape[:-2], top + height + bottom, left + width + right),
            self.fill,
            images.dtype,
        )
        out[..., top : top + height, left : left + width] = (
            images  # np.pad takes three times as long
        )
        return out

    def __repr__(self) -> str:
        return f"RandomCrop({self.size}, padding={self.padding})"


def _sides(padding: Any) -> tuple[int, ...]:
    """(left, top, right, bottom)."""
    widths = as_ints("RandomCrop", "padding", 0 if padding is None else padding)
    if len(widths) not in (1, 2, 4) or min(widths) < 0:
        raise errors.ArgumentError(
            f"RandomCrop: padding must be one, two or four widths, not {brief(padding)}"
        )
    return widths * (4 // len(widths))
