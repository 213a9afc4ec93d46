"""Transforms of images: values, one image and a batch alike, draws that repeat, wrong input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.nn import data
from weft.nn.data import transforms as T

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 6, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (5, 6, 7, 3), dtype=np.uint8)
PLANES = RNG.random((5, 3, 6, 7), np.float32)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("image", [GREY[0], COLOUR[0]], ids=["grey", "colour"])
def test_to_tensor_scales_bytes_and_puts_channels_first(image: Any) -> None:
    found = T.ToTensor()(image)
    expected = np.atleast_3d(image).transpose(2, 0, 1).astype(np.float32) / 255
    assert found.dtype == np.float32 and np.array_equal(found, expected)


def test_to_tensor_keeps_the_values_of_floats() -> None:
    image = RNG.random((4, 5, 3), np.float32)
    assert np.array_equal(T.ToTensor()(image), image.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("mean", "std"), [((0.1, 0.2, 0.3), (1.0, 2.0, 4.0)), (0.5, [0.25]), ((0.5,), (1, 2, 3))]
)
def test_normalize_takes_mean_and_deviation_of_each_channel(mean: Any, std: Any) -> None:
    expected = (PLANES[0] - np.reshape(mean, (-1, 1, 1))) / np.reshape(std, (-1, 1, 1))
    found = T.Normalize(mean, std)(PLANES[0])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_a_flip_is_sure_or_never_at_the_ends() -> None:
    assert np.array_equal(T.RandomHorizontalFlip(1)(GREY[0]), GREY[0, :, ::-1])
    assert np.array_equal(T.RandomHorizontalFlip(0).batch(GREY), GREY)


def test_about_p_of_all_images_are_flipped() -> None:
    wf.manual_seed(0)
    images = np.tile(np.array([[[0, 1]]], np.uint8), (4000, 1, 1))
    assert abs(T.RandomHorizontalFlip(0.3).batch(images)[:, 0, 0].mean() - 0.3) < 0.03


@pytest.mark.parametrize("images", [GREY, PLANES], ids=["grey", "planes"])
@pytest.mark.parametrize("mode", T.PADDING_MODES)
def test_a_crop_is_a_part_of_the_bordered_image(images: Any, mode: str) -> None:
    fill = {"constant_values": 9} if mode == "constant" else {}
    bordered = np.pad(images, [(0, 0)] * (images.ndim - 2) + [(2, 4), (1, 3)], mode, **fill)
    found = T.RandomCrop((5, 4), padding=(1, 2, 3, 4), fill=9, padding_mode=mode).batch(images)
    parts = [
        [bordered[i, ..., y : y + 5, x : x + 4] for y in range(8) for x in range(8)]
        for i in range(5)
    ]
    assert found.shape == (*images.shape[:-2], 5, 4) and found.dtype == images.dtype
    assert all(any(np.array_equal(found[i], part) for part in parts[i]) for i in range(5))


def test_every_place_of_a_crop_is_as_likely() -> None:
    wf.manual_seed(0)
    image = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    found = T.RandomCrop((1, 2)).batch(np.repeat(image, 4000, axis=0))
    counts = np.bincount(found[:, 0, 0], minlength=6)
    assert counts[[2, 5]].sum() == 0 and abs(counts[[0, 1, 3, 4]] - 1000).max() < 150


def test_a_crop_of_the_whole_image_is_the_image() -> None:
    assert np.array_equal(T.RandomCrop((6, 7)).batch(GREY), GREY)


def test_a_small_image_is_bordered_if_asked_for() -> None:
    found = T.RandomCrop(9, pad_if_needed=True, fill=1)(np.zeros((9, 4), np.float32))
    assert found.shape == (9, 9) and found.sum() == 9 * 5
    found = T.RandomCrop((3, 9), padding=(1, 0, 2, 0), pad_if_needed=True, fill=1)(
        np.zeros((3, 4), np.float32)
    )
    assert (
        found.shape == (3, 9) and found.sum() == 3 * 5
    )  # two columns more on each side, of which a part of nine is taken


# ---------------------------------------------------------------- one image and a batch


@pytest.mark.parametrize(
    ("transform", "images"),
    [
        (T.ToTensor(), GREY),
        (T.ToTensor(), COLOUR),
        (T.Normalize((0.1, 0.2, 0.3), (1, 2, 3)), PLANES),
        (T.Lambda(lambda x: x[::-1] * 2), GREY),
        (T.Compose([T.ToTensor(), T.Normalize(0.5, 0.5), lambda x: x.mean(axis=0)]), COLOUR),
        (T.RandomHorizontalFlip(1), COLOUR),
    ],
    ids=["grey", "colour", "normalize", "lambda", "compose", "flip"],
)
def test_a_batch_is_what_its_images_give(transform: Callable[[Any], Any], images: Any) -> None:
    alone = [transform(image) for image in images]
    assert np.array_equal(T.in_batch(transform, images), np.stack(alone))


def test_tensors_and_lists_are_images_too() -> None:
    assert np.array_equal(T.ToTensor()(wf.tensor(GREY[0])), T.ToTensor()(GREY[0]))
    assert T.RandomCrop(1)([[7]]).tolist() == [[7]]


def test_a_transform_leaves_its_input() -> None:
    before = GREY.copy(), PLANES.copy()
    T.Compose([T.RandomHorizontalFlip(1), T.RandomCrop(3), T.ToTensor()]).batch(GREY)
    T.Normalize(0.5, 0.5).batch(PLANES)
    assert np.array_equal(before[0], GREY) and np.array_equal(before[1], PLANES)


# ---------------------------------------------------------------- in a data set


PIPELINE = T.Compose(
    [T.RandomCrop(6, padding=2), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(0.1, 0.3)]
)


@pytest.mark.parametrize("whole", [True, False], ids=["batch", "items"])
def test_random_transforms_follow_the_seed_and_differ_between_passes(whole: bool) -> None:
    transform = PIPELINE if whole else PIPELINE.__call__  # which has no method `batch`
    loader = data.DataLoader(
        data.Images(GREY[:, None], np.arange(5, dtype=np.uint8), "made", transform), 2
    )

    def passes(seed: int) -> list[list[Any]]:
        wf.manual_seed(seed)
        return [[batch.tolist() for batch, _ in loader] for _ in range(2)]

    first = passes(1)
    assert first == passes(1) and first[0] != first[1]


def test_a_data_set_of_arrays_transforms_whole_batches() -> None:
    sizes = []

    class Counting(T.Transform):
        def batch(self, images: Any) -> Any:
            sizes.append(len(images))
            return images / 2

    pairs = data.TensorDataset(np.arange(5.0), np.arange(5), transform=Counting())
    assert [x.tolist() for x, _ in data.DataLoader(pairs, 3)] == [
        [0, 0.5, 1],
        [1.5, 2],
    ] and sizes == [3, 2]
    assert pairs[4][0] == 2.0


# ---------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda: T.ToTensor()(np.zeros(3, np.uint8)),
            ValueError,
            r"an image must be \(H, W\) or \(H, W, C\), not \(3,\)",
        ),
        (
            lambda: T.Normalize((0, 0), (1, 1))(PLANES[0]),
            ValueError,
            r"2 channels do not fit an image of shape \(3, 6, 7\)",
        ),
        (
            lambda: T.Normalize(0, 1)(PLANES[0, 0]),
            ValueError,
            r"1 channels do not fit an image of shape \(6, 7\)",
        ),
        (
            lambda: T.Normalize(0, 1)(GREY[:1]),
            TypeError,
            "images must be floats, not uint8: ToTensor",
        ),
        (lambda: T.Normalize((0, 0), (1, 0)), ValueError, "std is not 0"),
        (lambda: T.Normalize("a", 1), TypeError, "each of mean must be a real number"),
        (lambda: T.RandomHorizontalFlip(1.5), ValueError, r"p must be in \[0, 1\], not 1\.5"),
        (lambda: T.RandomCrop(0), ValueError, "size must be at least 1, not 0"),
        (lambda: T.RandomCrop((1, 2, 3)), ValueError, "size must be an int or 2 of them"),
        (
            lambda: T.RandomCrop(2, padding=(1, 2, 3)),
            ValueError,
            "padding must be one, two or four widths",
        ),
        (
            lambda: T.RandomCrop(2, padding=-1),
            ValueError,
            "padding must be one, two or four widths, not -1",
        ),
        (
            lambda: T.RandomCrop(2, padding_mode="wrap"),
            ValueError,
            "padding_mode must be 'constant'",
        ),
        (
            lambda: T.RandomCrop(7)(GREY[0]),
            ValueError,
            r"an image of \(6, 7\) has no part of \(7, 7\): pad_if_needed",
        ),
        (
            lambda: T.RandomCrop(1)(np.zeros(3)),
            ValueError,
            r"an image must be \(\.\.\., H, W\), not \(3,\)",
        ),
        (lambda: T.Compose([3]), TypeError, "each of transforms must be a function, not 3"),
        (lambda: T.Compose(T.ToTensor()), TypeError, "transforms must be a sequence"),
        (lambda: T.Lambda(3), TypeError, "lambd must be a function, not 3"),
    ],
)
def test_wrong_input_is_named(make: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()
