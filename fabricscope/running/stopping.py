"""What ends a process: a signal, or the death of the process that supervises it."""

import asyncio
import os
import signal

SUPERVISED = "FABRICSCOPE_SUPERVISED"
"""Environment variable of processes that have a supervisor."""


def stop_on_signals() -> asyncio.Event:
    """Set by SIGTERM or SIGINT; a second one ends the process at once."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            raise SystemExit(1)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping


async def parent_is_gone() -> None:
    """Returns when the process that started this one has died; never when nobody supervises it."""
    if SUPERVISED not in os.environ:
        await asyncio.Event().wait()
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110  # the kernel offers no event for it that works without a signal
        await asyncio.sleep(1)
