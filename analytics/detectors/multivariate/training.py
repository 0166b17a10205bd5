"""When models are trained and when they come into use: fixed moments of event time; the work is done by a thread.

Training begins at whole multiples of ``train_every_s`` with the history as it is then. The model is used from a moment
that is fixed beforehand, so results do not depend on how long training takes: in live operation it has finished by
then, and a replay that is faster waits for it.
"""

from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.multivariate.history import History
from analytics.models.multivariate.config import MultivariateConfig
from analytics.models.multivariate.model import Model, train
from analytics.snapshot.stateful import State

ROWS_MIN = 256
_SETTLE_INTERVALS = 6  # between the beginning of training and the model's first use


class Training:
    """The models of one kind, one after the other. model: the one in use; None before the first."""

    def __init__(self, config: MultivariateConfig, interval_ns: int, workers: Executor) -> None:
        self._config, self._workers = config, workers
        self._every_ns, self._learn_ns = round(config.train_every_s * 1e9), round(config.learn_s * 1e9)
        self._settle_ns = _SETTLE_INTERVALS * interval_ns
        self.model: Model | None = None
        self._period = -1  # number of the newest period in which training began or could not
        self._begun_ns = 0  # when the running training began, 0 for none
        self._vectors: NDArray[np.float32] | None = None  # its data: a restart begins it again
        self._work: Future[Model] | None = None

    def step(self, now_ns: int, history: History) -> None:
        """One tick, at its end in event time."""
        if self._begun_ns and now_ns >= self._begun_ns + self._settle_ns:
            assert self._work is not None
            self.model = self._work.result()
            self._begun_ns, self._vectors, self._work = 0, None, None
        period = now_ns // self._every_ns
        if period == self._period or self._begun_ns:
            return
        if history.size < ROWS_MIN or now_ns - history.since_ns < self._learn_ns:
            return  # the first model does not wait for the next period
        self._period, self._begun_ns, self._vectors = period, now_ns, history.vectors()
        self._begin()

    def _begin(self) -> None:
        assert self._vectors is not None
        self._work = self._workers.submit(train, self._config.method, self._vectors, self._begun_ns)

    def state(self) -> State:
        head: dict[str, Any] = {"period": self._period, "begun_ns": self._begun_ns, "model": None}
        arrays: dict[str, NDArray[Any]] = {} if self._vectors is None else {"vectors": self._vectors}
        if self.model is not None:
            head["model"], model_arrays = self.model.state()
            arrays |= {f"model/{name}": array for name, array in model_arrays.items()}
        return State(head, arrays)

    def restore(self, state: State) -> None:
        head, arrays = state
        self._period, self._begun_ns = head["period"], head["begun_ns"]
        if head["model"] is not None:
            prefix = "model/"
            of_model = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            self.model = Model.restored(State(head["model"], of_model))
        if self._begun_ns:
            self._vectors = arrays["vectors"].astype(np.float32)
            self._begin()
