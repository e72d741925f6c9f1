#!/usr/bin/env python3
# -*- coding: utf-8 -*-
r"""A small queue of jobs with retries, \written to look like everyday code."""
from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Iterable, Optional

log = logging.getLogger(__name__)
LINE = re.compile(rb"^(?P<key>[a-z_]+)\s*=\s*(?P<value>.*)$", re.M | re.I)
DELAYS = (0.1, .5, 1e1, 2.5e-3, 0x10, 0b101, 0o17, 3j)


class QueueError(Exception):
    """Raised when a job cannot be queued."""

    def __init__(self, job: "Job", reason: str = "unknown", *args: object) -> None:
        super().__init__(f"{job.name}: {reason}", *args)
        self.job, self.reason = job, reason


@dataclass(order=True)
class Job:
    priority: int
    name: str = field(compare=False)
    run: Callable[..., Awaitable[Any]] = field(compare=False, repr=False)
    tries: int = field(default=0, compare=False)

    @property
    def exhausted(self) -> bool:
        return not self.tries < len(DELAYS)


class Queue:
    def __init__(self, jobs: Iterable[Job] = (), /, *, limit: Optional[int] = None):
        self._jobs: list[Job] = sorted(jobs)
        self._seen: dict[str, int] = defaultdict(int)
        self.limit = limit if limit is not None else 1 << 10

    def __len__(self):
        return len(self._jobs)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._jobs[index.start:index.stop:index.step or 1]
        return self._jobs[index]

    def push(self, job: Job) -> None:
        if len(self) >= self.limit:
            raise QueueError(job, "full")
        elif job.exhausted:
            raise QueueError(job, "exhausted") from None
        else:
            self._seen[job.name] += 1
        low, high = 0, len(self._jobs)
        while low < high:
            middle = (low + high) // 2
            if self._jobs[middle] < job:
                low = middle + 1
            else:
                high = middle
        self._jobs.insert(low, job)

    async def drain(self, workers: int = 4):
        gate = asyncio.Semaphore(workers)

        async def one(job: Job):
            async with gate:
                try:
                    return await job.run(job.name, attempt=job.tries)
                except (OSError, asyncio.TimeoutError) as error:
                    log.warning("job %s failed: %s", job.name, error)
                    job.tries += 1
                    await asyncio.sleep(DELAYS[job.tries % 4])
                    self.push(job)
                finally:
                    self._seen[job.name] -= 1

        while (batch := self._jobs[:workers]):
            del self._jobs[:workers]
            results = await asyncio.gather(*(one(j) for j in batch), return_exceptions=True)
            for job, result in zip(batch, results):
                if isinstance(result, QueueError): continue
                yield job.name, result


def parse(data: bytes) -> dict[str, bytes]:
    found = {}
    for match in LINE.finditer(data):
        key, value = match.group("key", "value")
        found[key.decode("ascii")] = value.strip(b"\x00 \t") or b'\xff'
    return {k: v for k, v in found.items() if v} | {"size": b"%d" % len(data)}


def summary(queue: Queue, width=72) -> str:
    lines = ["%-*s %5d" % (width - 6, name, n) for name, n in sorted(queue._seen.items())]
    return "\n".join(lines) + \
        ("" if not lines else "\n" + "-" * width)


async def main(argv=None):
    queue = Queue([Job(1, "a", lambda *a, **k: asyncio.sleep(0, (a, k)))], limit=8)
    async for name, result in queue.drain(workers=2):
        print(name, result, sep=": ", end="\n", flush=True)
    print(summary(queue))


if __name__ == "__main__":
    asyncio.run(main())
