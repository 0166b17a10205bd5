"""One process for a folder, whatever becomes of it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import ConfigError
from common.folder_lock import FolderLock

HOLDER = """
import signal, sys
from pathlib import Path
from common.folder_lock import FolderLock

FolderLock(Path(sys.argv[1]), "x.folder").acquire()
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds ``tmp_path / "state" / "lock"``."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "state" / "lock")]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_learns_which_one_holds_the_folder(holder, tmp_path):
    lock = FolderLock(tmp_path / "state" / "lock", "x.folder")
    for number in (None, signal.SIGSTOP):  # one that is stopped holds it too
        if number is not None:
            os.kill(holder.pid, number)
        with pytest.raises(ConfigError) as refusal:
            lock.acquire()
        expected = f"x.folder {tmp_path / 'state'}: process {holder.pid} on {socket.gethostname()} uses it"
        assert str(refusal.value).startswith(expected)
    holder.kill()
    holder.wait()
    lock.acquire()  # at once: the kernel has let go of it
    assert (tmp_path / "state" / "lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"
    lock.release()


def test_within_a_process_too_and_free_again_after_release(tmp_path):
    first, second = (FolderLock(tmp_path / "lock", "x.folder") for _ in range(2))
    first.release()  # before it was acquired: nothing happens
    first.acquire()
    with pytest.raises(ConfigError, match=f"process {os.getpid()} "):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    second.release()


def test_a_child_process_does_not_hold_it_on(tmp_path):
    lock = FolderLock(tmp_path / "lock", "x.folder")
    lock.acquire()
    command = [sys.executable, "-c", "print(flush=True); input()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
    assert child.stdout is not None
    child.stdout.readline()  # it runs, so what it does not inherit is closed in it
    lock.release()
    again = FolderLock(tmp_path / "lock", "x.folder")
    again.acquire()
    again.release()
    child.communicate(b"\n")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"x\.folder .*/file: .*: .*/file/lock"):
        FolderLock(tmp_path / "file" / "lock", "x.folder").acquire()
