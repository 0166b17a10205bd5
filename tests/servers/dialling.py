"""A switch that dials its collector, in Go with the protocols' own packages; built by ``dialling/install.sh``."""

import asyncio
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from tests.waiting import DEADLINE_S

_ROOT = Path(__file__).resolve().parents[2]
_INSTALL = Path(__file__).parent / "dialling" / "install.sh"


@pytest.fixture(scope="session")
def dialling() -> Path:
    """The program."""
    subprocess.run([str(_INSTALL)], check=True, timeout=DEADLINE_S)
    return _ROOT / "build" / "bin" / "dialling"


async def dial(program: Path, kind: str, address: str, messages: Iterable[Message]) -> str:
    """Sends messages in one call; the name of the status that ended it. kind: sonic or mdt."""
    lines = [json_format.MessageToJson(message, indent=None).encode() for message in messages]
    process = await asyncio.create_subprocess_exec(
        program, kind, address, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    printed, errors = await process.communicate(b"\n".join(lines) + b"\n")
    assert process.returncode == 0, errors.decode()
    return printed.decode().strip()
