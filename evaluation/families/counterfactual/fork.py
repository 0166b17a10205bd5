"""A copy of this process that goes on in another way, and reports what it saw there."""

import os
import pickle
from collections.abc import Callable
from typing import NoReturn, TypeVar

T = TypeVar("T")


def in_copy(call: Callable[[], T]) -> T:
    """What ``call`` returns in a copy of this process; nothing that it does changes anything here.

    Raises what ``call`` raises. Only the calling thread exists in the copy (fork(2)), so ``call`` must not need
    others: simulator and engine are numpy and compiled code. RuntimeError when the copy dies without a result.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _report(writer, call)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        raise RuntimeError("the copy of the process died without a result")
    returned, found = pickle.loads(answer)
    if not returned:
        raise found
    result: T = found
    return result


def _report(writer: int, call: Callable[[], object]) -> NoReturn:
    """Ends the copy at once, without the buffers and the exit handlers that belong to the process that it copies."""
    try:
        try:
            answer = (True, call())
        except Exception as error:
            answer = (False, error)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
    finally:
        os._exit(0)
