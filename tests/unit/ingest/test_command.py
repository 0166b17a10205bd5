"""What a command prints or a file holds: within its limits, or with the reason why not."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ingest.collectors.command import NoAnswer, Output
from ingest.collectors.command_config import CommandConfig
from telemetry.samples import DownReason
from tests.waiting import DEADLINE_S


async def output(**settings: Any) -> bytes:
    return await Output(CommandConfig.model_validate(settings)).read()


async def test_what_a_command_prints(tmp_path: Path) -> None:
    assert await output(command=["printf", "a b\\n"]) == b"a b\n"
    assert await output(command=["printf", "%s", "$HOME"]) == b"$HOME", "there is no shell"


async def test_what_a_file_holds_now(tmp_path: Path) -> None:
    file = tmp_path / "output"
    for text in (b"first", b"second"):
        file.write_bytes(text)
        assert await output(file=str(file)) == text


@pytest.mark.parametrize(
    ("settings", "reason", "words"),
    [
        ({"command": ["/absent/program"]}, DownReason.REFUSED, "/absent/program"),
        ({"command": ["echo", "a\0b"]}, DownReason.REFUSED, "null byte"),
        ({"file": "/absent/file"}, DownReason.REFUSED, "/absent/file: No such file"),
        ({"file": "/"}, DownReason.REFUSED, "Is a directory"),
        ({"command": ["false"]}, DownReason.CLOSED, "exited with 1"),
        ({"command": ["yes"], "body_bytes_max": 1000}, DownReason.TOO_LARGE, "more than 1000 bytes"),
        ({"file": "/dev/zero", "body_bytes_max": 1000}, DownReason.TOO_LARGE, "more than 1000 bytes"),
    ],
)
async def test_why_there_is_none(settings: dict[str, Any], reason: DownReason, words: str) -> None:
    with pytest.raises(NoAnswer, match=words) as raised:
        await output(**settings)
    assert raised.value.reason is reason


async def test_a_command_that_hangs_ends_at_the_deadline_with_all_that_it_has_started(tmp_path: Path) -> None:
    """The child keeps standard output open after the command itself has ended."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(TimeoutError):
        await output(command=["sh", "-c", f"(exec 3>{pipe}; echo lives >&3; exec sleep 1000) & exit 0"], timeout_s=5.0)
    os.set_blocking(reader, True)
    async with asyncio.timeout(DEADLINE_S):
        assert await asyncio.to_thread(os.read, reader, 100) == b"lives\n"
        assert await asyncio.to_thread(os.read, reader, 100) == b"", "its end of the pipe is closed"
    os.close(reader)


@pytest.mark.parametrize("settings", [{}, {"command": ["a"], "file": "b"}])
def test_a_command_or_a_file_and_not_both(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="give one of command and file"):
        CommandConfig.model_validate(settings)


async def test_nothing_is_left_open() -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await output(command=["true"])
        with pytest.raises(NoAnswer):
            await output(command=["yes"], body_bytes_max=10)
    assert len(os.listdir("/proc/self/fd")) <= len(before)
