"""The disk cache: what it returns is what was put, or nothing; and it never raises."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from weft import options
from weft.runtime import cache
from weft.runtime.cache import HEADER, DiskCache

DATA = bytes(range(256)) * 40


def packs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in packs(folder))


@pytest.fixture
def make(tmp_path):
    """Caches in one folder, closed at the end."""
    made = []

    def new(folder=tmp_path, **limit):
        made.append(DiskCache(folder, **limit))
        return made[-1]

    yield new
    for store in made:
        store.close()


def test_get_returns_what_was_put(make, tmp_path):
    store = make(tmp_path / "a" / "b")
    assert store.get("k") is None
    assert not (tmp_path / "a").exists()  # nothing is touched by asking
    store.put("k", DATA)
    store.put("other", b"")
    assert store.get("k") == DATA and store.get("other") == b"" and store.get("none") is None
    assert make(tmp_path / "a" / "b").get("k") == DATA
    store.put("k", b"new")
    assert store.get("k") == b"new"
    assert make(tmp_path / "a" / "b").get("k") == b"new"


def test_entries_of_a_process_share_a_file_and_later_processes_go_on_in_it(make, tmp_path):
    for start in (0, 10):
        store = make()
        for i in range(start, start + 10):
            store.put(str(i), DATA)
        store.close()
    assert len(packs(tmp_path)) == 1
    assert all(make().get(str(i)) == DATA for i in range(20))


def test_what_others_add_is_found_when_the_folder_is_looked_at_again(make, monkeypatch):
    reader, writer = make(), make()
    writer.put("a", DATA)
    assert reader.get("a") == DATA
    writer.put("b", DATA)
    assert reader.get("b") is None
    monkeypatch.setattr(cache, "RESCAN_SECONDS", 0.0)
    assert reader.get("b") == DATA


def damaged(whole: bytes, entry: int, damage: str) -> bytes:
    """A pack of equal entries after an accident to one of them."""
    size = HEADER.size + len(DATA)
    at = entry * size
    flip = {"magic": 3, "name": 10, "length": 26, "digest": 40, "checksum": 50, "data": 500}.get(damage)
    if flip is not None:
        return whole[: at + flip] + bytes([whole[at + flip] ^ 1]) + whole[at + flip + 1 :]
    return {"half": whole[: at + size // 2], "header": whole[: at + 20], "garbage": whole[:at] + DATA + whole[at:]}[damage]


@pytest.mark.parametrize("entry", [0, 1, 2])
@pytest.mark.parametrize("damage", ["magic", "name", "length", "digest", "checksum", "data", "half", "header", "garbage"])
def test_a_damaged_entry_is_not_there_and_harms_no_other(make, tmp_path, damage, entry):
    store = make()
    for i in range(3):
        store.put(str(i), DATA)
    store.close()
    (path,) = packs(tmp_path)
    path.write_bytes(damaged(path.read_bytes(), entry, damage))
    store = make()
    gone = set() if damage == "garbage" else set(range(entry, 3)) if damage in ("half", "header") else {entry}
    assert {i for i in range(3) if store.get(str(i)) is None} == gone
    store.put(str(entry), DATA)
    assert store.get(str(entry)) == DATA
    store.close()
    again = make()
    assert all(again.get(str(i)) == DATA for i in range(3) if i == entry or i not in gone)


@pytest.mark.parametrize("damage", ["data", "half", "header"])
def test_damage_under_an_open_cache_is_noticed(make, tmp_path, damage):
    store = make()
    store.put("0", DATA)
    (path,) = packs(tmp_path)
    path.write_bytes(damaged(path.read_bytes(), 0, damage))
    assert store.get("0") is None
    store.put("0", DATA)
    assert store.get("0") == DATA and make().get("0") == DATA


def test_packs_unused_for_longest_are_dropped(make, tmp_path):
    limit = 400_000
    store = make(limit=limit)
    for i in range(30):
        store.put(str(i), DATA)
    store.close()
    for i, path in enumerate(packs(tmp_path)):
        os.utime(path, (1000 + i, 1000 + i))
    first = make(limit=limit)
    assert first.get("0") == DATA  # its pack is now the most recent
    for i in range(30, 60):
        first.put(str(i), DATA)
    assert size_of(tmp_path) <= limit * 9 // 8
    later = make(limit=limit)
    assert later.get("0") == DATA and later.get("59") == DATA and later.get("6") is None
    assert first.get("10") is None or first.get("10") == DATA


def test_folder_that_cannot_be_written_is_no_error(make, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    store = make(blocker / "cache")
    store.put("k", DATA)
    assert store.get("k") is None
    make(None).put("k", DATA)
    assert make(None).get("k") is None


def test_full_disk_leaves_nothing_behind(make, tmp_path, monkeypatch):
    store = make()
    store.put("whole", DATA)
    before = size_of(tmp_path)
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:100]))
    store.put("k", DATA)
    monkeypatch.undo()
    assert store.get("k") is None and size_of(tmp_path) == before
    store.put("k", DATA)
    assert store.get("k") == DATA and make().get("whole") == DATA


def test_a_forked_child_has_a_pack_of_its_own(make, tmp_path):
    store = make()
    store.put("parent", DATA)
    child = multiprocessing.get_context("fork").Process(target=store.put, args=("child", DATA))
    child.start()
    child.join(30)
    store.put("after", DATA)
    assert len(packs(tmp_path)) == 2
    assert all(make().get(key) == DATA for key in ("parent", "child", "after"))


def test_a_killed_writer_harms_nobody(make, tmp_path):
    program = f"""
import os
from pathlib import Path
from weft.runtime.cache import DiskCache
store = DiskCache(Path({str(tmp_path)!r}))
store.put("whole", b"x" * 1000)
real = os.write
def torn(file, data):
    real(file, data[:300])
    os.kill(os.getpid(), 9)
os.write = torn
store.put("torn", b"x" * 1000)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == -9
    store = make()
    assert store.get("whole") == b"x" * 1000 and store.get("torn") is None
    store.put("torn", b"y" * 1000)
    assert store.get("torn") == b"y" * 1000 and make().get("torn") == b"y" * 1000
    assert len(packs(tmp_path)) == 1


def _hammer(folder: Path, number: int) -> None:
    cache.RESCAN_SECONDS = 0.0
    store = DiskCache(folder, limit=60_000)
    for i in range(200):
        key = str((i * 7 + number) % 11)
        store.put(key, key.encode() * 5000)
        got = store.get(str(i % 11))
        if got is not None and got != str(i % 11).encode() * 5000:
            os._exit(3)


def test_concurrent_processes_see_whole_entries(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_hammer, args=(tmp_path, n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [w.exitcode for w in workers] == [0, 0, 0]


def test_default_folder_follows_the_options(tmp_path, monkeypatch):
    with options.override(cache_dir=tmp_path):
        assert cache.default().folder == tmp_path and cache.default() is cache.default()
    with options.override(cache_dir=None):
        assert cache.default().folder is None
    monkeypatch.setenv("HOME", "/somewhere")
    cache._in_folder.cache_clear()
    with options.override(cache_dir=Path("~/.cache/weft")):
        assert cache.default().folder == Path("/somewhere/.cache/weft")
    cache._in_folder.cache_clear()


def test_fingerprint_is_stable_and_a_digest():
    assert cache.source_fingerprint() == cache.source_fingerprint()
    assert len(cache.source_fingerprint()) == 64


def test_second_process_loads_the_runtime_from_disk(tmp_path):
    program = "from weft.runtime.threads import pool; print(pool.ensure())"
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "WEFT_NUM_THREADS": "2"}

    def run():
        return subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=True
        ).stdout

    first = run()
    (path,) = packs(tmp_path / "cache")
    whole = path.read_bytes()
    assert run() == first and path.read_bytes() == whole
    path.write_bytes(whole[:-9])
    run()
    assert path.read_bytes() == whole


def test_a_system_without_file_locks_keeps_nothing(tmp_path):
    program = (
        "import os, sys; sys.modules['fcntl'] = None; del os.pread\n"
        "import weft as wf; from weft import nn; print((wf.arange(5) * 2.5).sum().item())"
    )
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "25.0\n" and not packs(tmp_path)


def test_importing_looks_up_no_c_library(tmp_path):
    program = (
        "import ctypes, sys; whole = ctypes.CDLL\n"
        "def refuse(name, *args, **kwargs):\n"
        "    if name is None: raise TypeError('as on systems where the process itself is no library')\n"
        "    return whole(name, *args, **kwargs)\n"
        "ctypes.CDLL = refuse\n"
        "import weft.frontend.compile, weft.runtime.executable\n"
        "from weft.runtime import flat; print(flat.is_flat(b''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
