"""The disk cache: what it returns is what was put, or nothing; and it never raises."""

import errno
import fcntl
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from effort import rarely
from weft import errors, options
from weft.runtime import cache
from weft.runtime.cache import DiskCache
from weft.runtime.pack import HEADER

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
    flip = {
        "magic": 3,
        "name": 10,
        "length": 26,
        "digest": 40,
        "kind": 50,
        "checksum": 57,
        "data": 500,
    }.get(damage)
    if flip is not None:
        return whole[: at + flip] + bytes([whole[at + flip] ^ 1]) + whole[at + flip + 1 :]
    return {
        "half": whole[: at + size // 2],
        "header": whole[: at + 20],
        "garbage": whole[:at] + DATA + whole[at:],
    }[damage]


@pytest.mark.parametrize("entry", [0, 1, 2])
@pytest.mark.parametrize(
    "damage",
    ["magic", "name", "length", "digest", "kind", "checksum", "data", "half", "header", "garbage"],
)
def test_a_damaged_entry_is_not_there_and_harms_no_other(make, tmp_path, damage, entry):
    store = make()
    for i in range(3):
        store.put(str(i), DATA)
    store.close()
    (path,) = packs(tmp_path)
    path.write_bytes(damaged(path.read_bytes(), entry, damage))
    store = make()
    gone = (
        set()
        if damage == "garbage"
        else set(range(entry, 3))
        if damage in ("half", "header")
        else {entry}
    )
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


# ---------------------------------------------------------------- packs that are dropped, locked,
# or not the cache's own


def test_a_pack_that_is_dropped_takes_nothing_more(make, tmp_path):
    store, other = make(), make()
    store.put("0", DATA)
    assert other.clear().files == 1 and packs(tmp_path) == []
    assert store.get("0") == DATA  # what is open stays readable
    store.put("1", DATA)
    assert make().get("1") == DATA and store.get("1") == DATA


def test_a_folder_that_is_removed_is_made_again(make, tmp_path):
    folder = tmp_path / "cache"
    store = make(folder)
    store.put("0", DATA)
    shutil.rmtree(folder)
    store.put("1", DATA)
    assert make(folder).get("1") == DATA
    shutil.rmtree(folder)
    folder.write_text("a file now")
    store.put("2", DATA)
    assert store.get("3") is None and folder.read_text() == "a file now"


def test_dropped_packs_are_closed(make, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "RESCAN_SECONDS", 0.0)
    store, writer = make(), make()
    for i in range(20):
        writer.put(str(i), DATA)
        assert store.get(str(i)) == DATA
        writer.clear()
    assert len(store._packs) <= 1 and len(writer._packs) <= 1


def test_other_files_of_the_folder_are_left_alone(make, tmp_path):
    limit = 200_000
    others = [
        tmp_path / name
        for name in (
            "0000.pack",
            "mine.pack",
            "pack-1f.pack",
            "weft.pack",
            "notes.txt",
            "weft-a.pack",
        )
    ]
    for path in others:
        path.write_bytes(DATA * 10)
    store = make(limit=limit)
    for i in range(60):
        store.put(str(i), DATA)
    store.clear()
    assert sorted(tmp_path.iterdir()) == sorted(others) and all(
        path.read_bytes() == DATA * 10 for path in others
    )


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_that_knows_no_locks_keeps_nothing(make, tmp_path, monkeypatch, number):
    def refused(*_):
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", refused)
    store = make()
    store.put("0", DATA)
    assert store.get("0") is None and len(packs(tmp_path)) <= 1


@pytest.mark.parametrize("limit", [0, 7, 1000, 8 * (HEADER.size + len(DATA)) - 1])
def test_what_does_not_fit_into_a_pack_is_not_kept(make, tmp_path, limit):
    store = make(limit=limit)
    store.put("0", DATA)
    assert store.get("0") is None and packs(tmp_path) == []


def test_no_pack_is_longer_than_an_eighth_of_the_limit(make, tmp_path):
    limit = 8 * (2 * HEADER.size + 30_000)
    store = make(limit=limit)
    for i in range(100):
        store.put(str(i), bytes(10_000 + i * 100))
        assert (
            max(path.stat().st_size for path in packs(tmp_path)) <= limit // 8
            and size_of(tmp_path) <= limit
        )


def test_a_folder_that_cannot_be_written_is_still_read(make, tmp_path, monkeypatch):
    make().put("0", DATA)
    real = os.open

    def read_only(path, flags, *mode, **folder):
        if flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "read-only file system")
        return real(path, flags, *mode, **folder)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", lambda *_: read_only("", os.O_RDWR))
    store = make()
    store.put("1", DATA)
    assert store.get("0") == DATA and store.get("1") is None


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with options.override(cache_dir=Path("here/cache")):
        assert cache.default().folder == tmp_path / "here" / "cache"
        monkeypatch.chdir("/")
        assert cache.default().folder == tmp_path / "here" / "cache"
    cache._in_folder.cache_clear()


def test_without_a_current_folder_a_relative_one_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with options.override(cache_dir=Path("here")):
        assert cache.default().folder is None
    cache._in_folder.cache_clear()


@pytest.mark.slow
def test_a_child_forked_while_another_thread_reads_can_read(make):
    store = make()
    store.put("0", DATA)
    held = threading.Event()

    def hold():
        with store._mine():
            held.set()
            time.sleep(0.5)  # for which fork() waits

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(0 if store.get("0") == DATA else 3)
    )
    child.start()
    child.join(10)
    thread.join()
    child.kill()
    assert child.exitcode == 0


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
    assert (
        subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode
        == -9
    )
    store = make()
    assert store.get("whole") == b"x" * 1000 and store.get("torn") is None
    store.put("torn", b"y" * 1000)
    assert store.get("torn") == b"y" * 1000 and make().get("torn") == b"y" * 1000
    assert len(packs(tmp_path)) == 1


def _hammer(folder: Path, number: int) -> None:
    cache.RESCAN_SECONDS = 0.0
    store = DiskCache(folder, limit=100_000)
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


@pytest.mark.parametrize("name", ["runtime/cache.py", "runtime/llvm/pool.ll"])
def test_fingerprint_changes_with_each_source_of_the_runtime(make, tmp_path, monkeypatch, name):
    package = tmp_path / "package"
    shutil.copytree(Path(cache.__file__).parent, package / "runtime")
    monkeypatch.setattr(cache, "_PACKAGE", str(package))
    monkeypatch.setattr(cache, "default", make)
    before = cache.source_fingerprint.__wrapped__("runtime")
    with open(package / name, "a") as file:
        file.write("\n")
    assert cache.source_fingerprint.__wrapped__("runtime") != before


@pytest.mark.parametrize("damaged", [False, *rarely(True)])
def test_second_process_loads_the_runtime_from_disk(tmp_path, damaged):
    program = "from weft.runtime.threads import pool; print(pool.ensure())"
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache"), "WEFT_NUM_THREADS": "2"}

    def run():
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=True,
        ).stdout

    first = run()
    (path,) = packs(tmp_path / "cache")
    whole = path.read_bytes()
    if damaged:
        path.write_bytes(whole[:-9])
    assert run() == first and path.read_bytes() == whole


@pytest.mark.slow
def test_a_system_without_file_locks_keeps_nothing(tmp_path):
    program = (
        "import os, sys; sys.modules['fcntl'] = None; del os.pread\n"
        "import weft as wf; from weft import nn; print((wf.arange(5) * 2.5).sum().item())"
    )
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "25.0\n" and not packs(tmp_path)


@pytest.mark.slow
def test_importing_looks_up_no_c_library(tmp_path):
    program = (
        "import ctypes, sys; whole = ctypes.CDLL\ndef refuse(name, *args, **kwargs):\n    if name"
        " is None: raise TypeError('as on systems where the process itself is no library')\n   "
        " return whole(name, *args, **kwargs)\nctypes.CDLL = refuse\nimport weft.compiler.compile,"
        " weft.runtime.executable\nfrom weft.runtime import flat; print(flat.is_flat(b''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# ---------------------------------------------------------------- whom it trusts


def open_to_others(store, path):
    path.chmod(path.stat().st_mode | 0o020)


def of_another_user(store, path):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize("change", [open_to_others, of_another_user])
def test_a_folder_that_others_can_write_to_is_neither_read_nor_written(make, tmp_path, change):
    make().put("k", DATA)
    before = size_of(tmp_path)
    change(make, tmp_path)
    store = make()
    with pytest.warns(
        errors.CacheWarning, match="nothing is kept on disk: .*(chmod go-w|another user)"
    ):
        assert store.get("k") is None
    store.put("other", DATA)
    assert store.get("k") is None and size_of(tmp_path) == before


@pytest.mark.parametrize("change", [open_to_others, of_another_user])
def test_a_pack_that_others_can_write_to_is_neither_read_nor_written(make, tmp_path, change):
    make().put("k", DATA)
    (pack,) = packs(tmp_path)
    whole = pack.read_bytes()
    change(make, pack)
    store = make()
    assert store.get("k") is None
    store.put("other", DATA)
    assert store.get("other") == DATA and pack.read_bytes() == whole and len(packs(tmp_path)) == 2


def a_link(folder, pack, text):
    other = folder / "thesis.txt"
    other.write_bytes(text)
    pack.symlink_to(other)


def a_file(folder, pack, text):
    pack.write_bytes(text)


def a_pipe(folder, pack, text):
    os.mkfifo(pack)


@pytest.mark.parametrize("stands", [a_link, a_file, a_pipe])
def test_what_is_no_pack_is_never_touched(make, tmp_path, stands):
    pack, text = tmp_path / "weft-0000.pack", b"my thesis\n" * 1000
    stands(tmp_path, pack, text)
    store = make(limit=8 * 3 * (HEADER.size + len(DATA)))
    for i in range(60):  # packs are dropped meanwhile
        store.put(str(i), DATA)
    assert make().get("59") == DATA
    assert store.clear().failures == [] and make().get("59") is None
    assert pack.is_fifo() or pack.read_bytes() == text


@pytest.mark.slow
def test_the_command_says_that_others_can_write_to_the_folder(tmp_path):
    tmp_path.chmod(0o777)
    line = [sys.executable, "-m", "weft", "cache", "--stats"]
    done = subprocess.run(
        line,
        env=os.environ | {"WEFT_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.returncode == 1 and f"other users may write to {tmp_path}: chmod go-w" in done.stderr
    )
