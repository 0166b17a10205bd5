"""A folder of state belongs to one process at a time. Blocking."""

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from common.errors import ConfigError


class FolderLock:
    """Held from ``acquire`` to ``release``, or until the process dies, however it dies: the kernel lets go of it.

    A process that is stopped (SIGSTOP) still holds it. file: the lock file, which names its holder and stays behind;
    its folder is the one that is protected. setting: the key of the settings that names the folder, for messages.
    """

    def __init__(self, file: Path, setting: str) -> None:
        self._file, self._setting = file, setting
        self._held: int | None = None

    def acquire(self) -> None:
        """Makes the folder when it is missing. ConfigError when another process holds it, or it cannot be locked."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Not inheritable: a child process must not hold it on.
            descriptor = os.open(self._file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"{self._setting} {self._file.parent}: {error.strerror}: {self._file}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 1024, 0).decode(errors="replace").strip() or "another process"
            os.close(descriptor)
            raise ConfigError(
                f"{self._setting} {self._file.parent}: {holder} uses it; stop that one, or use another folder here"
            ) from error
        except OSError as error:
            os.close(descriptor)
            raise ConfigError(f"{self._setting} {self._file.parent}: cannot be locked: {error.strerror}") from error
        self._held = descriptor
        with contextlib.suppress(OSError):  # a full disk: the lock holds without a name
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def release(self) -> None:
        """Idempotent, safe before ``acquire``."""
        held, self._held = self._held, None
        if held is not None:
            os.close(held)
