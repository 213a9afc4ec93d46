"""Files that only this user can have written. In: the path of a folder. Out: descriptors of it and
of files in it.

The disk cache holds machine code, so anyone who can write to it runs code as this user. Files are
opened below the folder's descriptor, and never through a link, so that what was looked at is what
is read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(OSError):
    """Others can write there, or may have."""


def open_folder(path: Path) -> int:
    """The folder. Raises UntrustedError, and OSError where there is none."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return _checked(folder, str(path))


def open_file(folder: int, name: str, flags: int) -> int:
    """A regular file in an open folder, made as one that others cannot read. Raises UntrustedError,
    OSError."""
    try:
        file = os.open(
            name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
    except OSError as failure:
        if failure.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO) or (
            failure.errno == errno.EACCES and _stands(folder, name)
        ):
            raise UntrustedError(f"{name} is not a file of this user") from failure
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UntrustedError(f"{name} is not a regular file")
    return _checked(file, name)


def _checked(file: int, name: str) -> int:
    status = os.fstat(file)
    try:
        if status.st_uid != os.geteuid():
            raise UntrustedError(f"{name} belongs to another user (number {status.st_uid})")
        if status.st_mode & OTHERS:
            raise UntrustedError(f"other users may write to {name}: chmod go-w {name}")
    except UntrustedError:
        os.close(file)
        raise
    return file


def _stands(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
