"""Images with labels, in memory. In: uint8 arrays, a transform. Out: a data set of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...frontend.operands.arguments import as_function
from .dataset import Dataset, transformed, transformed_rows
from .idx import Array

__all__ = ["Images"]

Transform = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Images(Dataset):
    """Images (N, C, H, W) and labels (N,), both uint8, and where they came from: a data set of
    (image, label).

    Without a transform an image is uint8 (C, H, W). A transform gets (H, W), or (H, W, C) where C
    is not 1; whole batches of them if it has a method `batch`.

    >>> data = nn.data.Images(wf.zeros((5, 1, 28, 28), dtype="uint8").numpy(),
    ...     wf.arange(5, dtype="uint8").numpy(), "me")
    >>> images, labels = next(iter(nn.data.DataLoader(data, batch_size=3)))
    >>> images.shape, labels.dtype
    ((3, 1, 28, 28), weft.uint8)
    """

    images: Array
    labels: Array
    source: str
    transform: Transform | None = None

    def __post_init__(self) -> None:
        if self.transform is not None:
            as_function("Images", "transform", self.transform)

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"Images({len(self)} of {self.images.shape[1:]} from {self.source!r})"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.images[index]
        seen = image if self.transform is None else _as_seen(image)
        return transformed(self.transform, (seen, self.labels[index]))  # type: ignore[return-value]

    def take_rows(self, rows: Array) -> tuple[Any, ...]:
        """The batch of these rows: images (n, C, H, W) as the transform gives them, labels (n,)."""
        images = self.images.take(rows, axis=0)
        seen = images if self.transform is None else _as_seen(images)
        return transformed_rows(self.transform, (seen, self.labels.take(rows)))

    def first(self, limit: int | None) -> Images:
        """The first `limit` of them, or all."""
        return (
            self
            if limit is None
            else replace(self, images=self.images[:limit], labels=self.labels[:limit])
        )


def _as_seen(images: Array) -> Array:
    """(..., C, H, W) in the layout in which image files are read."""
    return (
        images[..., 0, :, :] if images.shape[-3] == 1 else images.swapaxes(-3, -2).swapaxes(-2, -1)
    )
