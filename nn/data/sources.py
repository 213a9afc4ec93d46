"""Folders with the files of data sets. In: a path or nothing. Out: their folder; None where only
what is embedded is left.

The order is the same for all sets: the path that is given, WEFT_DATA_DIR, a download whose
checksums are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ... import options
from ...frontend.operands.arguments import as_path
from .idx import DataError

DOWNLOAD_SECONDS = 10  # without an answer, after which there is no network


@dataclass(frozen=True)
class Source:
    """The files of a data set, those named .gz unpacked or not, and where they may be; without a
    url they are not fetched."""

    name: str
    files: tuple[str, ...]
    folders: tuple[str, ...]  # below WEFT_DATA_DIR, which sets share, or below a given path
    url: str | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)


def find(source: Source, path: str | Path | None = None) -> Path | None:
    """The folder of a data set's files, from the first of: path, WEFT_DATA_DIR, download. Raises
    DataError.

    A path must have them; where WEFT_DATA_DIR has none of them, a download is tried.
    """
    if path is not None:
        return folder_of(source, path)
    shared = options.current().data_dir
    if shared is None:
        return download(source)
    if not Path(shared).is_dir():
        raise DataError(f"WEFT_DATA_DIR: there is no folder {shared}")
    return _first_with_any(source, Path(shared), source.folders) or download(source)


def folder_of(source: Source, path: str | Path) -> Path:
    """The folder itself or the one below that holds the files. Raises DataError."""
    folders = (".", *source.folders)
    folder = _first_with_any(source, as_path(source.name, path), folders)
    if folder is None:
        below = " or ".join(folder for folder in source.folders if folder != ".")
        raise DataError(
            f"{path}: there is no {_either(source.files[0])} in it, nor in its subfolder {below}"
        )
    return folder


def _first_with_any(source: Source, base: Path, folders: tuple[str, ...]) -> Path | None:
    return next(
        (base / f for f in folders if any(_present(base / f, name) for name in source.files)), None
    )


def file_of(folder: Path, name: str) -> Path:
    """The path of a file, which may lie there unpacked. Raises DataError."""
    path = _present(folder, name)
    if path is None:
        raise DataError(f"{folder}: there is no {_either(name)} in it")
    return path


def _present(folder: Path, name: str) -> Path | None:
    return next(
        (folder / n for n in (name, name.removesuffix(".gz")) if (folder / n).is_file()), None
    )


def _either(name: str) -> str:
    return f"{name} or {name.removesuffix('.gz')}" if name.endswith(".gz") else name


def download(source: Source, folder: str | Path | None = None) -> Path | None:
    """The folder of the files, fetched unless there; None without url, pooch or network. A wrong
    checksum raises DataError."""
    pooch = _pooch() if source.url else None
    if pooch is None:
        return None
    target = Path(folder) if folder is not None else Path(pooch.os_cache("weft")) / source.name
    pooch.get_logger().setLevel("WARNING")
    for name in source.files:
        try:
            fetcher = pooch.HTTPDownloader(timeout=DOWNLOAD_SECONDS)
            pooch.retrieve(
                f"{source.url}{name}", source.sha256[name], name, target, downloader=fetcher
            )
        except OSError:  # what requests raises without a network
            return None
        except ValueError as e:
            raise DataError(
                f"{source.url}{name}: the download does not have the known checksum ({e})"
            ) from e
    return target


def instead_of(source: Source, embedded: str) -> str:
    """What says that embedded data stand in for a set that `find` did not find: why, and how to
    have the set itself."""
    why = (
        "it has none"
        if not source.url
        else "pooch is not installed"
        if _pooch() is None
        else f"from {source.url}"
    )
    return (
        f"{embedded}, in place of {source.name}: no download ({why}); set WEFT_DATA_DIR, or give a"
        " folder with its files"
    )


def _pooch() -> Any:
    try:
        return import_module("pooch")
    except ImportError:
        return None
