"""How soon a new process has its first results, and how much memory it takes. Out: a table, each
number beside its target.

    python benchmarks/startup.py [--repeats 5]

Every measurement is a process of its own: cold with an empty cache folder, warm with what a cold
one left there. Measured are the import of weft (with NumPy and llvmlite), then either the first
value of a chain of elementwise operations on 2**20 elements, or the first jitted step of LeNet
(batch 64, SGD with momentum), the first step of another batch size, and the peak of resident memory
after 60 steps, or the first jitted step of a GPT (width 384, 6 heads, context 64, AdamW) of several
depths, less a later step. Printed are medians. A first round that is not counted leaves Python's
own byte code on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

# what is measured: (seconds or MB cold, warm) at most, None where there is no target
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "import weft, s": (0.3, None),
    "first value of a chain, s": (0.15, 0.02),
    "first LeNet step, s": (1.5, 0.25),
    "LeNet step of another batch size, s": (0.4, None),
    "peak memory of LeNet, MB": (150, 150),
    "first GPT step, 6 layers, s": (1.2, 0.25),
    "first GPT step, 12 layers, s": (1.5, 0.25),
    "first GPT step, 48 layers, s": (3, 0.25),
}
IMPORT, CHAIN, STEP, BATCH, MEMORY, *_ = TARGETS
STEPS = 60  # of LeNet, before the memory is read


def seconds(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def chain(wf: Any) -> dict[str, float]:
    """The first value of a chain of elementwise operations."""
    import numpy as np

    a, b, c = (
        wf.tensor(np.random.default_rng(i).standard_normal(1 << 20, dtype=np.float32))
        for i in range(3)
    )
    return {
        CHAIN: seconds(
            lambda: wf.realize((a * b + c).tanh() * a.sigmoid() - b.relu() / (1.0 + c.abs()))
        )
    }


def lenet(wf: Any) -> dict[str, float]:
    """The first steps of LeNet, of two batch sizes, and the memory that many of them take."""
    step, batch, other = trainer(wf), images(wf, 64), images(wf, 48)
    times = {
        STEP: seconds(lambda: step(*batch).item()),
        BATCH: seconds(lambda: step(*other).item()),
    }
    for _ in range(STEPS):
        step(*batch)
    return times | peak_memory()


def trainer(wf: Any) -> Callable[..., Any]:
    """A jitted training step of LeNet."""
    nn, F = wf.nn, wf.nn.functional
    convolutions = [nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)]
    linears = [nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)]
    parameters = [p for layer in (*convolutions, *linears) for p in layer.parameters()]
    optimiser = nn.optim.SGD(parameters, lr=0.01, momentum=0.9)

    def logits(x: Any) -> Any:
        for layer in convolutions:
            x = F.max_pool2d(layer(x).relu(), 2)
        x = linears[0](x.flatten(1))
        for layer in linears[1:]:
            x = layer(x.relu())
        return x

    @wf.jit  # type: ignore[untyped-decorator]
    def step(x: Any, y: Any) -> Any:
        optimiser.zero_grad()
        loss = F.cross_entropy(logits(x), y)
        loss.backward()
        optimiser.step()
        return loss

    return step  # type: ignore[no-any-return]


def gpt(wf: Any, layers: int) -> dict[str, float]:
    """What the first step of a GPT takes longer than a later one."""
    import numpy as np

    nn, F, width, context = wf.nn, wf.nn.functional, 384, 64
    tokens, places, head = (
        nn.Embedding(512, width),
        nn.Embedding(context, width),
        nn.Linear(width, 512),
    )
    block = nn.TransformerEncoderLayer(
        width, 6, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
    )
    blocks = nn.TransformerEncoder(block, layers, nn.LayerNorm(width))
    mask = nn.Transformer.generate_square_subsequent_mask(context)
    parameters = [p for m in (tokens, places, blocks, head) for p in m.parameters()]
    optimiser = nn.optim.AdamW(parameters, lr=1e-3)
    wf.realize(*parameters)

    @wf.jit  # type: ignore[untyped-decorator]
    def step(x: Any) -> Any:
        optimiser.zero_grad()
        state = blocks(tokens(x) + places(wf.arange(context)), mask=mask, is_causal=True)
        loss = F.cross_entropy(head(state[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        optimiser.step()
        return loss

    x = wf.tensor(np.random.default_rng(0).integers(0, 512, (2, context)))
    first = seconds(lambda: step(x).item())
    return {
        f"first GPT step, {layers} layers, s": first
        - min(seconds(lambda: step(x).item()) for _ in range(3))
    }


def images(wf: Any, count: int) -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(count)
    return wf.tensor(random.standard_normal((count, 1, 28, 28), dtype=np.float32)), wf.tensor(
        random.integers(0, 10, count)
    )


def peak_memory() -> dict[str, float]:
    """The most resident memory of this process, where the system tells."""
    try:
        with open("/proc/self/status") as status:
            peak = next(line for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return {}
    return {MEMORY: int(peak.split()[1]) / 1024}


CASES: dict[str, Callable[[Any], dict[str, float]]] = {"chain": chain, "lenet": lenet}
CASES |= {f"gpt{layers}": partial(gpt, layers=layers) for layers in (6, 12, 48)}


def measure(what: str) -> None:
    """Measures in this process and prints the results as JSON."""
    started = time.perf_counter()
    import weft as wf

    imported = time.perf_counter() - started
    print(json.dumps({IMPORT: imported} | CASES[what](wf)))


def child(what: str, folder: str) -> dict[str, float]:
    """What a new process with this cache folder measures."""
    command = [sys.executable, __file__, "--here", what]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
        "WEFT_CACHE_DIR": folder
    }
    run = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def medians(repeats: int) -> list[dict[str, float]]:
    """The median of each measurement, cold and warm."""
    found: list[dict[str, list[float]]] = [{}, {}]
    with tempfile.TemporaryDirectory() as folder:
        child("chain", folder)
    for _ in range(repeats):
        for what in CASES:
            with tempfile.TemporaryDirectory() as folder:
                for times in found:
                    for name, value in child(what, folder).items():
                        times.setdefault(name, []).append(value)
    return [{name: statistics.median(values) for name, values in times.items()} for times in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--here", choices=CASES, help="measure in this process, with the cache as it is"
    )
    given = parser.parse_args()
    if given.here:
        measure(given.here)
        return
    print(f"{'':36s} {'cold':>8s} {'target':>8s} {'warm':>8s} {'target':>8s}", flush=True)
    found = medians(given.repeats)
    for name, targets in TARGETS.items():
        cells = [(times.get(name), target) for times, target in zip(found, targets, strict=True)]
        print(
            f"{name:36s} "
            + " ".join(f"{number(value)} {number(target)}" for value, target in cells),
            flush=True,
        )


def number(value: float | None) -> str:
    return f"{'-':>8s}" if value is None else f"{value:8.4g}"


if __name__ == "__main__":
    main()
