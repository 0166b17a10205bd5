"""Notices that the event loop is blocked, and says where.

A thread looks at when the loop ran last, and logs what the loop's thread is doing. Code that holds the interpreter all
the time (an extension that never releases it) stops the thread as well: such a block is counted and logged without its
place once it is over.
"""

import asyncio
import sys
import threading
import time
import traceback
from contextvars import copy_context
from functools import partial

import structlog

from fabricscope.running.metrics import LOOP_BLOCKED_SECONDS, LOOP_BLOCKS

log = structlog.get_logger()
BLOCKED_S = 2.0
_LOOK_S = 0.5  # the loop notes the time, and the thread looks at it, this often


class LoopWatchdog:
    """Watches the loop that runs when it is started. blocked_s: from when on it counts as blocked."""

    def __init__(self, blocked_s: float = BLOCKED_S) -> None:
        self._blocked_s, self._look_s = blocked_s, min(_LOOK_S, blocked_s / 4)
        self._ran_s = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._ran_s = time.monotonic()
        self._note(asyncio.get_running_loop())
        watch = partial(copy_context().run, self._watch, threading.get_ident())  # the log lines name the stage
        self._thread = threading.Thread(target=watch, name="loop-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Idempotent."""
        self._stopping.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()

    def _note(self, loop: asyncio.AbstractEventLoop) -> None:
        now_s = time.monotonic()
        blocked_s, self._ran_s = now_s - self._ran_s, now_s
        self._timer = loop.call_later(self._look_s, self._note, loop)
        if blocked_s > self._blocked_s:
            log.warning("event loop runs again", blocked_s=round(blocked_s, 1))
            LOOP_BLOCKS.inc()
            LOOP_BLOCKED_SECONDS.inc(blocked_s)

    def _watch(self, thread_id: int) -> None:
        """thread_id: of the loop's thread. Says once in each block where it is."""
        logged_s = 0.0
        while not self._stopping.wait(self._look_s):
            ran_s = self._ran_s
            blocked_s = time.monotonic() - ran_s
            if blocked_s > self._blocked_s and ran_s != logged_s:
                logged_s = ran_s
                log.error("event loop is blocked", blocked_s=round(blocked_s, 1), at=_stack(thread_id))


def _stack(thread_id: int) -> str:
    """Where a thread is, the innermost call last; empty when it has ended."""
    frame = sys._current_frames().get(thread_id)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""
