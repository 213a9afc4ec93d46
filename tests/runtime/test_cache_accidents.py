"""The disk cache under kills, damage and hostile folders: results stay right and no user sees an
error."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hammer_cache
import pytest
from effort import rarely
from weft import options
from weft.runtime import cache


@pytest.mark.slow
def test_many_processes_killed_cleared_and_damaged_never_give_a_wrong_result() -> None:
    """All at once; for longer: `python tests/kit/hammer_cache.py 300`."""
    script = Path(hammer_cache.__file__)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, str(script), "5", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "a fresh process finds" in done.stdout and done.stderr == "", (
        done.stderr
    )


def break_pack(path: Path, rng: random.Random) -> None:
    """As after a crash of the machine or a bad disk: cut anywhere, or some bytes are others."""
    whole = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        del whole[rng.randrange(len(whole)) :]
    for _ in range(rng.randint(1, 5) if whole else 0):
        whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    path.write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("times", [6, *rarely(12)])
def test_random_damage_is_noticed_and_made_good(tmp_path: Path, times: int) -> None:
    rng, graphs = random.Random(0), range(12)
    with options.override(cache_dir=tmp_path):
        for _ in range(times):
            cache._in_folder.cache_clear()
            hammer_cache.forget()
            assert all(map(hammer_cache.check, graphs))
            cache.default().close()
            break_pack(next(tmp_path.iterdir()), rng)
        hammer_cache.forget()
        assert all(map(hammer_cache.check, graphs))
        cache.default().close()
    cache._in_folder.cache_clear()


def without_space(folder: Path) -> None:
    """A limit on the bytes of a file: what is beyond fails as on a full disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def read_only(folder: Path) -> None:
    """A folder that may be read and not written, not even by root."""
    folder.mkdir(mode=0o555)
    if os.getuid() == 0:
        drop_from_bounding_set, may_override_modes = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, may_override_modes, 0, 0, 0) == 0


OBSTACLES: dict[str, tuple[Callable[[Path], None], str]] = {
    "full disk": (without_space, ""),
    "read-only folder": (read_only, ""),
    "a file": (lambda folder: folder.write_text("mine"), ""),
    "below a file": (lambda folder: folder.parent.write_text("mine"), ""),
    "removed": (lambda folder: None, "import shutil; shutil.rmtree(folder)"),
    "a file meanwhile": (
        lambda folder: None,
        "import shutil; shutil.rmtree(folder); open(folder, 'w').close()",
    ),
    "no files left": (
        lambda folder: None,
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    ),
}
USER = """
import os, weft as wf
folder = os.environ["WEFT_CACHE_DIR"]
def compute():
    x = wf.arange(5).float()
    return [(x * 2.5).sum().item(), (x.exp() @ x).item() > 0, *wf.rand(1).shape]
first = compute()
print(first, (wf.arange(3) + 1).tolist())
{meanwhile}
print((wf.arange(3) * 7).tolist(), (wf.ones(2, 3) @ wf.ones(3, 2)).sum().item())
"""


ALIKE = ["a file", "removed"]  # others show as much


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "obstacle", [*(name for name in OBSTACLES if name not in ALIKE), *rarely(*ALIKE)]
)
def test_no_obstacle_is_seen_by_the_user(tmp_path: Path, obstacle: str) -> None:
    before, meanwhile = OBSTACLES[obstacle]
    folder = tmp_path / "some" / "cache"
    folder.parent.mkdir()
    if obstacle == "below a file":
        folder.parent.rmdir()
    environment = os.environ | {
        "WEFT_CACHE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    if obstacle == "full disk":  # bytecode would be cut, for all processes after this one
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", USER.format(meanwhile=meanwhile)]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: before(folder),
        check=False,
    )
    assert done.stdout == "[25.0, True, 1] [1, 2, 3]\n[0, 7, 14] 12.0\n" and done.stderr == "", (
        done.stderr
    )
