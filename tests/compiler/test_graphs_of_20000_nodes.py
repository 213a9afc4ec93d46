"""Graphs of 20,000 nodes: built, differentiated, compiled and run in bounded time and memory,
without recursion."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SECONDS, MEGABYTES = 30.0, 1024.0
# of Python's limit of 1,000; pytest alone would need more, so each case is a process of its own
RECURSION = 150

PRELUDE = f"""
import json, sys, time
import numpy as np
import weft as wf
import weft.compiler.compile  # imports recurse
from weft.frontend.lazy.program_table import _programs, statistics
from weft.frontend.lazy.realize import graph_of
from weft.ir.graph.graph import toposort
sys.setrecursionlimit({RECURSION})
NODES = int(sys.argv[1])
start = time.perf_counter(), time.process_time()
def report(nodes, **results):
    # others may use the cores, too
    wall, seconds = time.perf_counter() - start[0], time.process_time() - start[1]
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    # the peak of getrusage begins with what the parent process has needed
    megabytes = int(status["VmHWM"].split()[0]) / 1024
    print(json.dumps(dict(nodes=nodes, wall=wall, seconds=seconds, megabytes=megabytes, **results)))
def size(*tensors):
    return len(toposort(graph_of(*tensors)[0]))
"""

CHAIN = """
x = wf.tensor(np.linspace(0.5, 1.0, 64), requires_grad=True)
y, turns = x, NODES // 3 + 40
for _ in range(turns):
    y = y * 0.9999 + 1e-5
y.sum().backward()
nodes = size(y, x.grad)
wf.realize(y, x.grad)
reference = x.numpy()
for _ in range(turns):
    reference = reference * 0.9999 + 1e-5
report(nodes, value=bool((y.numpy() == reference).all()),
    grad=float(abs(x.grad.numpy() / 0.9999**turns - 1).max()))
"""

WIDE = """
x = wf.tensor(np.linspace(0.5, 1.0, 64), requires_grad=True)
factors = [1.0 + k / 4096 for k in range(NODES // 6 + 70)]
y = sum(x * f for f in factors)
y.sum().backward()
nodes = size(y, x.grad)
wf.realize(y, x.grad)
reference = sum(x.numpy() * f for f in factors)
report(nodes, value=bool((y.numpy() == reference).all()),
    grad=float(abs(x.grad.numpy() / sum(factors) - 1).max()))
"""

TOTAL = """
total = wf.tensor(0.0)
for k in range(10_000):
    total += wf.tensor(float(k % 7))
nodes = size(total)
report(nodes, value=total.item() == sum(k % 7 for k in range(10_000)), grad=0.0)
"""

MLP = """
LAYERS, WIDTH, BATCH = 136, 16, 8
F = wf.nn.functional
wf.manual_seed(0)
class Layer(wf.nn.Module):
    def __init__(self):
        self.scale, self.shift = wf.nn.Parameter(wf.ones(WIDTH)), wf.nn.Parameter(wf.zeros(WIDTH))
        self.linear = wf.nn.Linear(WIDTH, WIDTH)
    def forward(self, x):
        return x + self.linear(F.layer_norm(x, (WIDTH,), self.scale, self.shift)).gelu() * 0.1
model = wf.nn.Sequential(*(Layer() for _ in range(LAYERS)))
parameters = list(model.parameters())
optimizer = wf.nn.optim.Adam(parameters, lr=1e-3, weight_decay=0.01)
x = wf.randn(BATCH, WIDTH)
wf.realize(x, *parameters)
losses, built = [], []
for _ in range(3):
    optimizer.zero_grad()
    losses.append((model(x) ** 2).mean())
    losses[-1].backward()
    optimizer.step()
    built.append(statistics["built"])
(program,) = [p for p in _programs.values() if len(p.outputs) > len(parameters) * 3]
assert built[0] == built[2]
nodes = len(toposort(program.outputs))
report(nodes, value=losses[2].item() < losses[0].item(), grad=0.0)
"""


FORMS = {"chain": CHAIN, "wide": WIDE, "total": TOTAL, "mlp": MLP}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_20000_nodes_with_gradient(form: str) -> None:
    check(form, 20_000)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", ["chain", "wide"])
def test_5000_nodes_with_gradient(form: str) -> None:
    check(form, 5_000)


def check(form: str, nodes: int) -> None:
    """In as much time for each node."""
    done = json.loads(run(PRELUDE + FORMS[form], str(nodes)))
    assert done["nodes"] >= nodes
    limit = SECONDS * nodes / 20_000
    assert done["seconds"] <= limit and done["megabytes"] <= MEGABYTES, done
    assert done["value"] and done["grad"] < 1e-9, done


def run(code: str, argument: str) -> str:
    """What the code prints, compiled afresh."""
    path = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": path, "WEFT_CACHE_DIR": "none"}
    done = subprocess.run(
        [sys.executable, "-c", code, argument],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]
