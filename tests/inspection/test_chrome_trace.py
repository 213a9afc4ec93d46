"""The trace of a profile, against the fields that the Trace Event Format documents."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft import options
from weft.inspection.profile.data import Profile

# fields by kind of event: (name, type, needed); of the format's kinds, "X" is complete and "M"
# metadata
DOCUMENTED: dict[str, list[tuple[str, type | tuple[type, ...], bool]]] = {
    "X": [
        *(
            ("name", str, True),
            ("cat", str, False),
            ("ph", str, True),
            ("ts", (int, float), True),
            ("dur", (int, float), True),
        ),
        *(("pid", int, True), ("tid", int, True), ("args", dict, False)),
    ],
    "M": [
        ("name", str, True),
        ("ph", str, True),
        ("pid", int, True),
        ("tid", int, False),
        ("args", dict, True),
    ],
}
METADATA = {"process_name", "thread_name"}
WHOLE = {"traceEvents", "displayTimeUnit", "otherData"}  # of the object's fields


def profiled() -> Profile:
    a = wf.tensor(np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32))
    with options.override(num_threads=2, serial_threshold=0, min_chunks=3):
        return wf.profile(((a @ a.T).relu() @ a).softmax(axis=1).sum(axis=0), repeat=3)


@pytest.fixture(scope="module")
def found() -> Profile:
    return profiled()


@pytest.fixture(scope="module")
def trace(found: Profile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = found.chrome(tmp_path_factory.mktemp("trace") / "step.json")
    read: dict[str, Any] = json.loads(path.read_text())
    return read


def events(trace: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [e for e in trace["traceEvents"] if e.get("cat") == kind]


def faults(trace: dict[str, Any]) -> list[str]:
    """What the format does not allow."""
    out = [f"field {name}" for name in {*trace} - WHOLE]
    out += [] if trace["displayTimeUnit"] in ("ms", "ns") else ["displayTimeUnit"]
    for e in trace["traceEvents"]:
        fields = DOCUMENTED.get(e.get("ph", ""), [])
        out += [] if fields else [f"kind {e.get('ph')}"]
        out += [f"{e['name']} has {name}" for name in {*e} - {name for name, _, _ in fields}]
        for name, kind, needed in fields:
            if (needed or name in e) and not isinstance(e.get(name), kind):
                out.append(f"{e.get('name')}: {name} is {e.get(name)!r}")
        if e.get("ph") == "X" and (e["ts"] < 0 or e["dur"] < 0):
            out.append(f"{e['name']}: {e['ts']} + {e['dur']}")
        if e.get("ph") == "M" and (
            e["name"] not in METADATA or not isinstance(e["args"].get("name"), str)
        ):
            out.append(f"metadata {e['name']}")
    return out


def test_every_event_has_the_documented_fields(trace: dict[str, Any]) -> None:
    assert trace["traceEvents"] and faults(trace) == []


def test_a_wrong_event_is_a_fault() -> None:
    wrong = {"name": "k", "ph": "X", "ts": -1.0, "dur": 1.0, "pid": 1, "tid": "main", "colour": 3}
    expected = ["displayTimeUnit", "k has colour", "k: tid is 'main'", "k: -1.0 + 1.0"]
    assert faults({"traceEvents": [wrong], "displayTimeUnit": "us"}) == expected
    assert "kind ?" in faults({"traceEvents": [{"name": "k", "ph": "?"}], "displayTimeUnit": "ns"})


def test_each_kernel_has_a_bar_with_its_lines(trace: dict[str, Any], found: Profile) -> None:
    bars = events(trace, "kernel")
    assert [e["name"] for e in bars] == [k.name for k in found.kernels]
    for e in bars:
        assert e["args"]["lines"] and all(
            "test_chrome_trace.py:" in line for line in e["args"]["lines"]
        )
        assert e["args"]["median seconds"] > 0 and {"bytes", "flops", "bound", "schedule"} <= {
            *e["args"]
        }


def test_each_thread_has_a_row_with_its_name(trace: dict[str, Any]) -> None:
    names = {
        e["tid"]: e["args"]["name"]
        for e in trace["traceEvents"]
        if e["name"] == "thread_name" and e["pid"] == 1
    }
    assert [*names.values()] == ["kernels", "thread 0", "thread 1"]
    assert {
        e["tid"] for e in trace["traceEvents"] if e.get("cat") in ("kernel", "chunk", "phase")
    } <= {*names}


def test_bars_of_a_row_do_not_overlap(trace: dict[str, Any]) -> None:
    rows = defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] == "X":
            rows[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    slack = 0.5  # microseconds: what noting takes is left out of phases
    assert all(
        end <= begin + slack
        for row in rows.values()
        for (_, end), (begin, _) in pairwise(sorted(row))
    )


def test_every_chunk_has_a_bar(trace: dict[str, Any], found: Profile) -> None:
    assert len(events(trace, "chunk")) == len(found.chunks) > 0
    shared = {c.phase for c in found.chunks}
    assert len(events(trace, "phase")) == len(found.spans) - len(shared)


def test_passes_of_the_compiler_have_a_row(trace: dict[str, Any], found: Profile) -> None:
    bars = events(trace, "pass")
    assert [e["name"] for e in bars] == [name for name, _ in found.passes] and {
        e["pid"] for e in bars
    } == {2}


@pytest.mark.slow
@needs_compiler
def test_a_run_on_a_gpu_is_a_trace_too(tmp_path: Path) -> None:
    device()
    x = wf.ones(16, 64, device="cuda").realize()
    p = wf.profile(x.softmax(axis=1).sum(axis=0), repeat=1)
    made = json.loads(p.chrome(tmp_path / "trace.json").read_text())
    assert faults(made) == [] and not events(made, "chunk")
    assert [e["name"] for e in events(made, "kernel")] == [k.name for k in p.kernels]
