"""The disk cache: what it returns is what was put, or nothing; and it never raises."""

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from weft import options
from weft.runtime import cache
from weft.runtime.cache import DiskCache

DATA = bytes(range(256)) * 40


def entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def test_get_returns_what_was_put(tmp_path):
    store = DiskCache(tmp_path / "a" / "b")
    assert store.get("k") is None
    assert not (tmp_path / "a").exists()  # nothing is touched by asking
    store.put("k", DATA)
    store.put("other", b"")
    assert store.get("k") == DATA and store.get("other") == b"" and store.get("none") is None
    assert DiskCache(tmp_path / "a" / "b").get("k") == DATA
    store.put("k", b"new")
    assert store.get("k") == b"new"
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("damage", ["empty", "header", "half", "longer", "bit in data", "bit in header", "other key"])
def test_corrupt_entry_is_discarded(tmp_path, damage):
    store = DiskCache(tmp_path)
    store.put("k", DATA)
    (path,) = entries(tmp_path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[{"bit in header": 10}.get(damage, 500)] ^= 1
    store.put("second", DATA)
    other = next(p for p in entries(tmp_path) if p != path).read_bytes()
    path.write_bytes(
        {"empty": b"", "header": whole[:20], "half": whole[: len(whole) // 2], "longer": whole + b"x", "other key": other}.get(
            damage, bytes(flipped)
        )
    )
    assert store.get("k") is None
    assert not path.exists()
    store.put("k", DATA)
    assert store.get("k") == DATA


def test_least_recently_used_entries_go_first(tmp_path):
    store = DiskCache(tmp_path, limit=100_000)
    for i in range(8):
        store.put(str(i), DATA)
    for i, path in enumerate(p for k in range(8) for p in [store._path(str(k))]):
        os.utime(path, (1000 + i, 1000 + i))
    assert store.get("0") == DATA  # now the most recent
    store.put("8", DATA)
    store.put("9", DATA)
    assert sum(p.stat().st_size for p in entries(tmp_path)) <= 100_000
    assert store.get("0") == DATA and store.get("9") == DATA and store.get("1") is None


def test_leftover_temporary_files_are_removed(tmp_path):
    store = DiskCache(tmp_path)
    store.put("k", DATA)
    (path,) = entries(tmp_path)
    old, young = path.parent / "old.tmp", path.parent / "young.tmp"
    for file in (old, young):
        file.write_bytes(b"x")
    os.utime(old, (time.time() - 7200,) * 2)
    DiskCache(tmp_path).put("k", DATA)
    assert not old.exists() and young.exists()


def test_folder_that_cannot_be_written_is_no_error(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    store = DiskCache(blocker / "cache")
    store.put("k", DATA)
    assert store.get("k") is None
    DiskCache(None).put("k", DATA)
    assert DiskCache(None).get("k") is None


def test_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    store = DiskCache(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store.put("k", DATA)
    monkeypatch.undo()
    assert store.get("k") is None and entries(tmp_path) == []


def _hammer(folder: Path, number: int) -> None:
    store = DiskCache(folder, limit=60_000)
    for i in range(60):
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
    assert not [p for p in entries(tmp_path) if p.suffix == ".tmp"]


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
    outputs = []
    for _ in range(2):
        outputs.append(
            subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=True)
        )
        (entry,) = entries(tmp_path / "cache")
    assert outputs[0].stdout == outputs[1].stdout
    entry.write_bytes(entry.read_bytes()[:-9])
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert DiskCache(tmp_path / "cache").get("k") is None and len(entries(tmp_path / "cache")) == 1
