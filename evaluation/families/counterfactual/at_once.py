"""Work that is done where it is submitted."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class AtOnce(Executor):
    """An executor without threads: ``submit`` returns when the work is done, so a copy of the process can go on."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        work: Future[Any] = Future()
        try:
            work.set_result(fn(*args, **kwargs))
        except Exception as error:
            work.set_exception(error)
        return work
