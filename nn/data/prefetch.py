"""Batches made ahead of time by a thread. In: the rows of each batch, a function that fetches them.
Out: batches, in order.

The rows are asked for in the thread that iterates; only fetching runs in the other one, which ends
with the iterator: after its last batch, when it is dropped, or with the process. In a forked child,
which has no such thread, next() fetches itself.
"""

from __future__ import annotations

import atexit
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any

Fetch = Callable[[int, Any], Any]
END = object()  # there are no more rows
SLOW_SECONDS = 2e-4  # for a batch, from which on a thread is worth its cost
EXIT_SECONDS = 5.0  # for which the end of the process waits for a fetch that is under way


class _Job:
    """One batch: its number and rows, then its value or the exception that it met."""

    __slots__ = ("done", "error", "number", "ready", "rows", "value")

    def __init__(self, number: int, rows: Any) -> None:
        self.number, self.rows = number, rows
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.ready = Lock()
        self.ready.acquire()

    def run(self, fetch: Fetch) -> None:
        try:
            self.value = fetch(self.number, self.rows)
        except BaseException as error:  # it is raised again where the batch is asked for
            self.fail(error)
        self.done = True
        self.ready.release()

    def fail(self, error: BaseException) -> None:
        self.error = error
        self.done = True

    def result(self) -> Any:
        if self.error is None:
            return self.value
        try:
            raise self.error
        finally:
            self.error = None  # whose traceback holds this frame


class _Worker:
    """A thread that serves jobs one after the other, until its iterator is dropped."""

    def __init__(self, fetch: Fetch, owner: Ahead) -> None:
        self.jobs: SimpleQueue[Any] = SimpleQueue()
        self.stopped = False
        self._owner = weakref.ref(owner, self.jobs.put)  # C, so that Ctrl-C is not lost there
        self.thread = Thread(target=self._serve, args=(fetch,), name="weft-data", daemon=True)
        self.thread.start()
        running.add(self)

    def _serve(self, fetch: Fetch) -> None:
        while (
            isinstance(job := self.jobs.get(), _Job)
            and not self.stopped
            and self._owner() is not None
        ):
            job.run(fetch)
            del job  # and with it the batch, once it is taken

    def stop(self) -> None:
        """May be called anywhere, by the garbage collector too: it does not wait."""
        self.stopped = True
        self.jobs.put(None)


running: weakref.WeakSet[_Worker] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """No thread may be inside of NumPy while the interpreter goes away."""
    workers = list(running)
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.thread.join(EXIT_SECONDS)


class Ahead:
    """An iterator over batches: with a thread, `count` of them are under way while one is used.

    A thread costs a step some 40 us, so there is one only once two batches in turn took much longer
    than that: the first of a pass always does, and any one may, for what has nothing to do with it.
    A thread always hides waiting, but hides computing only if a core is idle: on two cores a step
    of 0.9 ms with batches that wait 2 ms takes 2.2 ms instead of 3.1.
    """

    def __init__(self, order: Iterator[Any], fetch: Fetch, count: int) -> None:
        self._order, self._fetch, self._count = order, fetch, count
        self._jobs: deque[_Job] = deque()
        self._number = 0
        self._seconds = 0.0  # that the batch before took
        self._worker: _Worker | None = None
        self._interrupted: _Job | None = None  # the batch that Ctrl-C met, which comes next

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Any:
        return (
            self._fetch_here()
            if self._worker is None or self._interrupted
            else self._take(self._worker)
        )

    def _fetch_here(self) -> Any:
        job = self._interrupted
        if job is None:
            job = _Job(self._number, next(self._order))
            self._number, self._interrupted = job.number + 1, job
        start = perf_counter()
        try:
            batch = self._fetch(job.number, job.rows)
        except Exception:
            self._interrupted = None  # the next batch comes next
            raise
        before, self._seconds = self._seconds, perf_counter() - start
        if self._worker is None and self._count and min(before, self._seconds) > SLOW_SECONDS:
            self._start()
        self._interrupted = None
        return batch

    def _start(self) -> None:
        try:
            worker = _Worker(self._fetch, self)
        except RuntimeError:  # no more threads, or the process ends: it goes on without
            self._count = 0
            return
        self._worker = worker
        for _ in range(self._count):
            self._ask(worker)

    def _ask(self, worker: _Worker) -> None:
        job = _Job(self._number, None)
        try:
            job.rows = next(self._order, END)
        except Exception as error:  # it comes after the batches before it
            job.fail(error)
        if job.rows is END:
            return
        if not job.done:
            worker.jobs.put(job)
        self._number += 1
        self._jobs.append(job)

    def _take(self, worker: _Worker) -> Any:
        if len(self._jobs) <= self._count:
            self._ask(worker)
        if not self._jobs:
            worker.stop()
            raise StopIteration
        job = self._jobs[0]
        if not job.done and not worker.thread.is_alive():
            job.run(self._fetch)
        if not job.done:
            job.ready.acquire()
        batch, is_there = job.value, job.error is None
        del self._jobs[0]  # after Ctrl-C before, it comes next time
        return batch if is_there else job.result()
