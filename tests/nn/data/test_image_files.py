"""nn/data: idx files and what is said of damaged ones, where image sets come from, the embedded
digits."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from weft import nn, options
from weft.nn import data
from weft.nn.data import image_sets as sets
from weft.nn.data import sources
from weft.nn.data.image_sets import resize


def idx(array: np.ndarray) -> bytes:
    codes = {np.dtype(spec).newbyteorder("="): code for code, spec in data.idx.IDX_TYPES.items()}
    header = struct.pack(f">HBB{array.ndim}I", 0, codes[array.dtype], array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_mnist(folder: Path, train: int = 7, test: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for split, n in (("train", train), ("t10k", test)):
        images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        (folder / f"{split}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(
            idx((np.arange(n) % 10).astype(np.uint8))
        )


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3), (2, 1, 4)])
def test_idx_round_trip(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for name, contents in (("plain", idx(array)), ("zipped.gz", gzip.compress(idx(array)))):
        (tmp_path / name).write_bytes(contents)
        got = data.read_idx(tmp_path / name)
        assert got.dtype == array.dtype and np.array_equal(got, array)


GOOD = idx(np.zeros((2, 3), np.uint8))


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (b"", "not an idx file"),
        (b"hello, world", "not an idx file"),
        (b"\0\0\x07\x01", "not an idx file"),
        (GOOD[:9], "the header needs 12 bytes, the file holds 9"),
        (GOOD[:-1], "needs 6 bytes of data, the file holds 5"),
        (GOOD + b"x", "needs 6 bytes of data, the file holds more"),
        (b"\0\0\x08\x41" + b"\0\0\0\1" * 65 + b"x", "no array has shape"),
        (b"\0\0\x08\x03" + b"\0" * 4 + b"\xff" * 8, "no array has shape"),
        (b"\0\0\x0e\x04" + b"\xff" * 16, "the file holds 0"),
        (gzip.compress(GOOD)[:-9], "cannot be decompressed"),
        (gzip.compress(GOOD)[:12] + b"\xff" * 20, "not an idx file"),
        (gzip.compress(GOOD)[:-8] + b"\0" * 8, "cannot be decompressed"),
    ],
    ids=[
        "empty",
        "text",
        "type",
        "header",
        "short",
        "long",
        "axes",
        "nothing",
        "huge",
        "cut-gzip",
        "bad-gzip",
        "bad-crc",
    ],
)
def test_damaged_idx_says_what_is_wrong(tmp_path: Path, contents: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(contents)
    with pytest.raises(data.DataError, match=says) as e:
        data.read_idx(path)
    assert str(path) in str(e.value)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "read", [data.read_idx, lambda path: [*data.read_lines(path)]], ids=["idx", "lines"]
)
def test_a_file_that_grows_when_it_is_decompressed_takes_no_more_memory_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    monkeypatch.setattr(data.text, "LONGEST", 1 << 16)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(GOOD + bytes(1 << 26)))
    tracemalloc.start()
    with pytest.raises(
        data.DataError, match=r"bomb\.gz(: damaged: .* holds more|, line 1: longer than)"
    ):
        read(tmp_path / "bomb.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(data.DataError, match="No such file"):
        data.read_idx(tmp_path / "none")
    with pytest.raises(data.DataError, match="there is no train-images-idx3-ubyte"):
        data.read_mnist(tmp_path)


@pytest.mark.parametrize("sub", ["", "mnist"])
def test_mnist_is_found_in_the_folder_or_below(tmp_path: Path, sub: str) -> None:
    write_mnist(tmp_path / sub)
    train, test = data.read_mnist(tmp_path)
    assert train.images.shape == (7, 1, 28, 28) and test.labels.shape == (3,)
    assert train.images.dtype == test.labels.dtype == np.uint8
    assert len(train.first(2)) == 2 and len(train.first(None)) == 7


def test_images_and_labels_must_belong_together(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(6, np.uint8)))
    with pytest.raises(data.DataError, match="do not belong together"):
        data.read_mnist(tmp_path)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("load", [data.mnist, data.fashion_mnist])
def test_path_comes_before_option_before_download_before_digits(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sub = {data.mnist: "mnist", data.fashion_mnist: "fashion-mnist"}[load]
    for i, name in enumerate(("path", f"option/{sub}", "net")):
        write_mnist(tmp_path / name, train=i + 1)
    monkeypatch.setattr(sources, "download", lambda source: tmp_path / "net")
    with options.override(data_dir=tmp_path / "option"):
        assert len(load(tmp_path / "path")[0]) == 1
        assert len(load()[0]) == 2
    with options.override(data_dir=tmp_path / "path"):  # MNIST may lie there, but no other set
        assert len(load()[0]) == (1 if load is data.mnist else 3)
    with options.override(data_dir=None):
        assert len(load()[0]) == 3
        pytest.importorskip("sklearn")
        monkeypatch.setattr(sources, "download", lambda source: None)
        train, _ = load()
        assert len(train) == 1437
        name, url = (
            ("MNIST", sets.MNIST.url)
            if load is data.mnist
            else ("Fashion-MNIST", sets.FASHION_MNIST.url)
        )
        how = "set WEFT_DATA_DIR, or give a folder with its files"
        for pooch, why in ((None, "pooch is not installed"), (object(), f"from {url}")):
            monkeypatch.setattr(sources, "_pooch", lambda pooch=pooch: pooch)
            assert (
                load()[0].source
                == f"scikit-learn digits, in place of {name}: no download ({why}); {how}"
            )


def test_a_data_dir_that_is_no_folder_is_named(tmp_path: Path) -> None:
    with (
        options.override(data_dir=tmp_path / "none"),
        pytest.raises(data.DataError, match="WEFT_DATA_DIR: there is no folder"),
    ):
        data.mnist()


def test_a_set_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with (
        options.override(data_dir=tmp_path),
        pytest.raises(data.DataError, match="mnist: there is no t10k-labels"),
    ):
        data.mnist()


class FakePooch:
    """Stands for pooch with a network that answers as told."""

    def __init__(self, answer: Exception | None) -> None:
        self.answer, self.checksums = answer, []

    def __call__(self, name: str) -> FakePooch:
        return self

    def retrieve(self, url: str, known_hash: str, *args: object, **kwargs: object) -> None:
        self.checksums.append(known_hash)
        if self.answer:
            raise self.answer

    def get_logger(self) -> FakePooch:
        return self

    def setLevel(self, level: str) -> None: ...

    def HTTPDownloader(self, timeout: float) -> None: ...


@pytest.mark.parametrize("source", [sets.MNIST, sets.FASHION_MNIST], ids=lambda source: source.name)
def test_download_verifies_checksums(
    source: sources.Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakePooch(None)
    monkeypatch.setattr(sources, "import_module", fake)
    assert sources.download(source, tmp_path) == tmp_path
    assert fake.checksums == list(source.sha256.values()) and len(set(fake.checksums)) == 4


def test_download_without_network_gives_none_and_with_a_bad_checksum_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "import_module", FakePooch(ConnectionError("no network")))
    assert sources.download(sets.MNIST, tmp_path) is None
    monkeypatch.setattr(
        sources, "import_module", FakePooch(ValueError("SHA256 hash does not match"))
    )
    with pytest.raises(data.DataError, match="known checksum"):
        sources.download(sets.MNIST, tmp_path)


def test_a_set_without_a_url_is_not_downloaded(tmp_path: Path) -> None:
    assert sources.download(sources.Source("own", ("a.txt",), ("own",)), tmp_path) is None


def test_digits_are_28x28_uint8_with_a_fixed_split() -> None:
    pytest.importorskip("sklearn")
    train, test = data.digits()
    assert (len(train), len(test)) == (1437, 360)
    assert train.images.shape[1:] == (1, 28, 28) and train.images.dtype == np.uint8
    assert train.images.max() == 255 and set(test.labels) == set(range(10))
    assert np.array_equal(test.images, data.digits()[1].images)


def test_resize_is_bilinear() -> None:
    image = np.array([[[0.0, 4.0], [8.0, 12.0]]])
    expected = np.array([[0, 1, 3, 4], [2, 3, 5, 6], [6, 7, 9, 10], [8, 9, 11, 12]])
    assert np.allclose(resize(image, 4, 4)[0], expected)
    assert np.allclose(resize(np.ones((2, 8, 8)), 28, 28), 1.0)


def numbered(n: int) -> data.Images:
    return data.Images(
        np.arange(n, dtype=np.uint8).reshape(n, 1, 1, 1), np.arange(n, dtype=np.uint8), "numbers"
    )


def test_images_are_a_data_set_of_pairs() -> None:
    images, labels = next(iter(nn.data.DataLoader(numbered(5), 3)))
    assert images.shape == (3, 1, 1, 1) and images.dtype.name == labels.dtype.name == "uint8"
    assert labels.tolist() == images.flatten().tolist() == [0, 1, 2]


def test_images_are_shown_in_a_line() -> None:
    assert repr(numbered(5)) == "Images(5 of (1, 1, 1) from 'numbers')"
    with pytest.raises(TypeError, match="Images: transform must be a function, not 3"):
        data.Images(numbered(1).images, numbered(1).labels, "numbers", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("channels", "seen"), [(1, (2, 3)), (3, (2, 3, 3))])
def test_a_transform_sees_images_as_files_give_them(channels: int, seen: tuple[int, ...]) -> None:
    pixels = np.arange(4 * channels * 6, dtype=np.uint8).reshape(4, channels, 2, 3)
    shapes = []
    images = data.Images(
        pixels,
        np.zeros(4, np.uint8),
        "made",
        transform=lambda image: shapes.append(image.shape) or image * 2,
    )
    batch, _ = next(iter(nn.data.DataLoader(images, 4)))
    assert shapes == [seen] * 4 and np.array_equal(images[3][0], batch[3].numpy())
    expected = 2 * (pixels[:, 0] if channels == 1 else pixels.transpose(0, 2, 3, 1))
    assert np.array_equal(batch.numpy(), expected)
