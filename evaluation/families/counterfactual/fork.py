"""A copy of this process that goes on in another way, and reports what it saw there."""

import os
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import NoReturn, TypeVar

T = TypeVar("T")


def in_copy(call: Callable[[], T]) -> T:
    """What ``call`` returns in a copy of this process; nothing that it does changes anything here.

    Raises what ``call`` raises. Only the calling thread exists in the copy (fork(2)), so ``call`` must not need
    others: simulator and engine are numpy and compiled code. RuntimeError when the copy dies without a result.
    """
    reader, writer = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _report(writer, call)
    writer.close()
    try:
        result, error = reader.recv()
    except EOFError:
        raise RuntimeError("the copy of the process died without a result") from None
    finally:
        reader.close()
        os.waitpid(child, 0)
    if error is not None:
        raise error
    found: T = result
    return found


def _report(writer: Connection, call: Callable[[], object]) -> NoReturn:
    """Ends the copy at once, without the buffers and the exit handlers that belong to the process that it copies."""
    try:
        try:
            answer = call(), None
        except Exception as error:
            writer.send((None, error))
        else:
            writer.send(answer)
    finally:
        os._exit(0)
