"""Memory of the machine. In: what the system reports. Out: bytes, or a refusal."""

from __future__ import annotations

import mmap
import os

from . import errors

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

CGROUP = "/sys/fs/cgroup/memory."
# a stack of 8 MB, twice 64 MB of which the aligned half stays, and as much for later threads
_THREAD = 256 << 20


def total() -> int:
    """Bytes that this process may use: those of the machine, or fewer in a container."""
    try:
        all_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        all_bytes = 4 << 30
    limit = _number(CGROUP + "max")
    return all_bytes if limit is None else min(all_bytes, limit)


def left() -> int | None:
    """Bytes available without swapping out other processes; None where the system does not say."""
    free = _field("/proc/meminfo", "MemAvailable:")
    rooms = [] if free is None else [free << 10]
    limit, used = _number(CGROUP + "max"), _number(CGROUP + "current")
    if limit is not None and used is not None:
        rooms.append(limit - used + (_field(CGROUP + "stat", "inactive_file") or 0))
    room = _address_space()
    if room is not None:
        rooms.append(room)
    return max(0, min(rooms)) if rooms else None


def require(size: int, what: str) -> None:
    """Refuses what would end the process, as LLVM does, where `ulimit -v` leaves less than these
    bytes. Raises MemoryError."""
    if not _has_room(size):
        room = _address_space()
        rest = "there is not as much" if room is None else f"{bytes_text(max(0, room))} are left"
        raise errors.MemoryError(
            f"{what} needs {bytes_text(size)} of address space, {rest}: `ulimit -v` allows no more"
        )


def has_room_for_thread() -> bool:
    """Whether `ulimit -v` leaves what a thread reserves at its start: its stack, and the C library
    its memory."""
    return _has_room(_THREAD)


def _has_room(size: int) -> bool:
    """Asks for as much where there is a limit, which needs no /proc; the memory is not used."""
    if resource is None or resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return True
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def _address_space() -> int | None:
    """Bytes that `ulimit -v` leaves to this process; None without such a limit."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _field("/proc/self/status", "VmSize:")
    return None if limit == resource.RLIM_INFINITY or used is None else limit - (used << 10)


def bytes_text(nbytes: int) -> str:
    """Bytes in a unit that fits."""
    for power, unit in ((50, "PiB"), (40, "TiB"), (30, "GiB")):
        if nbytes >> power:
            return f"{nbytes / 2**power:.1f} {unit}"
    return f"{nbytes / 2**20:.1f} MiB"


def _number(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # no such file, or "max" in it
        return None


def _field(path: str, name: str) -> int | None:
    try:
        with open(path) as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), None)
    except (OSError, ValueError):
        return None
