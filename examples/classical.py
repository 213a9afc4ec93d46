"""Classical models of Iris, each twice. In: 150 flowers. Out: a table: what scikit-learn reaches on
Tensors, and what gradients reach in Weft.

    python examples/classical.py
    python examples/classical.py --steps 2000

Principal components, ridge regression, a Gaussian mixture and k-means: scikit-learn has an
algorithm for each. Here each is also a loss of a line or two, which Adam makes small.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it, before SciPy is imported

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, pi

import common
import weft as wf
from progress import Progress
from weft import nn

GROUPS = 3  # of flowers, or of anything that looks alike
ALPHA = 10.0  # the penalty of the ridge


@dataclass(frozen=True)
class Row:
    """A model, what is measured of it, and its value for both ways of fitting."""

    model: str
    measure: str
    scikit: float
    gradients: float


# ---------------------------------------------------------------- the two ways


def descended(
    title: str, steps: int, loss: Callable[..., wf.Tensor], *start: wf.Tensor, lr: float = 0.03
) -> list[wf.Tensor]:
    """Where Adam leads from these values of the parameters; the rate falls to 0 on the way."""
    parameters = [nn.Parameter(value) for value in start]
    optimizer = nn.optim.Adam(parameters, lr=lr)

    @wf.jit
    def step() -> wf.Tensor:
        optimizer.zero_grad()
        value = loss(*parameters)
        value.backward()
        optimizer.step()
        return value

    with Progress(title, steps, "steps", compiled=True) as bar:
        for done in range(steps):
            optimizer.lr = lr * (1 - done / steps)
            bar.update(1, step().item())
    return [p.detach() for p in parameters]


# ---------------------------------------------------------------- the models


def components(x: wf.Tensor, steps: int) -> Row:
    """Two directions from which the flowers can be told best: the projection that loses least."""
    from sklearn.decomposition import PCA

    def lost(directions: wf.Tensor) -> wf.Tensor:
        return ((x - x @ directions @ directions.T) ** 2).mean()

    pca = PCA(2, svd_solver="full").fit(x)
    (directions,) = descended("components", steps, lost, wf.randn(x.shape[1], 2))
    kept = 1 - lost(directions) / (x**2).mean()
    return Row(
        "components", "variance kept", float(pca.explained_variance_ratio_.sum()), kept.item()
    )


def ridge(x: wf.Tensor, steps: int) -> Row:
    """The width of a petal from the other three lengths."""
    from sklearn.linear_model import Ridge

    lengths, width = x[:, :3], x[:, 3]

    def penalised(weights: wf.Tensor) -> wf.Tensor:
        return ((width - lengths @ weights) ** 2).sum() + ALPHA * (weights**2).sum()

    model = Ridge(ALPHA, fit_intercept=False, solver="svd").fit(lengths, width)
    (weights,) = descended("ridge", steps, penalised, wf.zeros(3))
    return Row(
        "ridge",
        "penalised squares",
        penalised(wf.asarray(model.coef_)).item(),
        penalised(weights).item(),
    )


def distances(x: wf.Tensor, centres: wf.Tensor) -> wf.Tensor:
    """Squared, of each flower to each centre."""
    return ((x[:, None] - centres) ** 2).sum(axis=2)


def groups(x: wf.Tensor, steps: int) -> Row:
    """Centres that lie near: scikit-learn's k-means is compiled code, of arrays."""
    from sklearn.cluster import KMeans

    def inertia(centres: wf.Tensor) -> wf.Tensor:
        return distances(x, centres).min(axis=1).sum()

    model = KMeans(GROUPS, n_init=10, random_state=0).fit(x.numpy())
    (centres,) = descended("k-means", steps, inertia, x[::50])
    return Row(
        "k-means", "sum of squared distances", float(model.inertia_), inertia(centres).item()
    )


def mixture(x: wf.Tensor, steps: int) -> Row:
    """How likely the flowers are, as three normal distributions with a variance for each axis."""
    from sklearn.mixture import GaussianMixture

    def surprise(logits: wf.Tensor, means: wf.Tensor, scales: wf.Tensor) -> wf.Tensor:
        deviations = (x[:, None] - means) / scales.exp()
        densities = -0.5 * (deviations**2 + log(2 * pi)).sum(axis=2) - scales.sum(axis=1)
        return -(densities + logits.log_softmax(axis=0)).logsumexp(axis=1).mean()

    model = GaussianMixture(
        GROUPS,
        covariance_type="diag",
        init_params="random_from_data",
        n_init=5,
        random_state=0,
        max_iter=200,
    ).fit(x)
    start = wf.zeros(GROUPS), x[::50], wf.zeros(GROUPS, x.shape[1])
    found = descended("mixture", steps, surprise, *start)
    with_scikit = surprise(
        wf.asarray(model.weights_).log(),
        wf.asarray(model.means_),
        wf.asarray(model.covariances_).log() / 2,
    )
    return Row("mixture", "mean log-likelihood", -with_scikit.item(), -surprise(*found).item())


MODELS = (components, ridge, groups, mixture)


# ---------------------------------------------------------------- the script


def flowers() -> wf.Tensor:
    """Four lengths of 150 flowers, in units of their deviation; those of a kind together."""
    from sklearn.datasets import load_iris
    from sklearn.preprocessing import StandardScaler

    x = wf.tensor(load_iris().data, dtype=wf.float32)
    return StandardScaler().fit_transform(x)


def table(rows: Sequence[Row]) -> str:
    lines = [f"{'model':12}{'measure':28}{'scikit-learn':>14}{'gradients':>12}"]
    lines += [f"{r.model:12}{r.measure:28}{r.scikit:14.4f}{r.gradients:12.4f}" for r in rows]
    return "\n".join(lines)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Fit classical models to Iris, with scikit-learn and by gradients."
    )
    parser.add_argument(
        "--steps",
        type=common.positive,
        metavar="N",
        default=1000,
        help="of Adam, for each model (default: 1000)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> list[Row]:
    """Fits and reports; returns the rows of the table."""
    import sklearn

    args = arguments(argv)
    wf.manual_seed(0)
    with sklearn.config_context(array_api_dispatch=True):
        x = flowers()
        rows = [model(x, args.steps) for model in MODELS]
    print(table(rows))
    return rows


if __name__ == "__main__":
    common.run(main)
