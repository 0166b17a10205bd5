"""What the peer comparison and the multivariate models cost: members and vectors per CPU-second."""

import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import IsolationForest

from analytics.models.multivariate.model import Method, train
from benchmarks.rows import Row, print_rows, row
from evaluation.models.peers import NOISE, PeerGroup, steady

_METHODS: tuple[Method, ...] = ("ellipse", "forest")


def members_per_cpu_second(size: int = 8192, steps: int = 30) -> float:
    """One group of ``size`` members, warm."""
    rng = np.random.default_rng(1)
    levels, present = steady(rng, size, steps)
    levels *= np.exp(NOISE * rng.normal(size=levels.shape))
    group = PeerGroup(size)
    group.step(levels[0], present[0])
    began = time.process_time()
    for step in range(1, steps):
        group.step(levels[step], present[step])
    return size * (steps - 1) / (time.process_time() - began)


def multivariate(rows: int = 100_000) -> list[Row]:
    """Vectors of 24 inputs, against scikit-learn's own ``score_samples`` of the same forest."""
    rng = np.random.default_rng(1)
    history = rng.normal(size=(8192, 24)).astype(np.float32)
    vectors = rng.normal(size=(rows, 24))
    forest = IsolationForest(n_estimators=100, max_samples=256, random_state=1).fit(history.astype(np.float64))
    reference = _rate(lambda: forest.score_samples(vectors), rows)
    found = []
    for method in _METHODS:
        model = train(method, history, 0)
        model.score(vectors[:10])
        rate = _rate(lambda model=model: model.score(vectors), rows)  # type: ignore[misc]
        found.append(row(f"multivariate: {method}, 24 inputs", rate, "vectors/CPU-s", reference))
    return found


def _rate(work: Callable[[], object], rows: int) -> float:
    began = time.process_time()
    work()
    return rows / (time.process_time() - began)


def run() -> list[Row]:
    return [row("peers: a group of 8,192", members_per_cpu_second(), "members/CPU-s"), *multivariate()]


if __name__ == "__main__":
    print_rows(run())
