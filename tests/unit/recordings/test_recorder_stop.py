"""Stopping the recorder while it writes a slice."""

import asyncio
import threading

import pytest

from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from recordings.config import RecordingConfig
from recordings.manifest import Manifest, read_manifest
from recordings.service import RecorderService
from recordings.writer import RecordingWriter
from tests.waiting import DEADLINE_S


async def test_the_last_slice_waits_for_the_one_before(tmp_path, monkeypatch: pytest.MonkeyPatch):
    began, again, at_once = threading.Event(), threading.Event(), []
    write = RecordingWriter.close_slice

    def slow(self: RecordingWriter, offsets: dict[str, int], gaps: tuple[str, ...]) -> None:
        if began.is_set():
            again.set()
        else:
            began.set()
            at_once.append(again.wait(0.5))  # ends at once when the two overlap
        write(self, offsets, gaps)

    monkeypatch.setattr(RecordingWriter, "close_slice", slow)
    bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    await bus.start()
    recorder = RecorderService(RecordingConfig(path=tmp_path / "recording", slice_s=0.1), bus, Manifest())
    await recorder.start()
    assert await asyncio.to_thread(began.wait, DEADLINE_S)
    await recorder.stop()
    await recorder.stop()
    await bus.stop()
    assert at_once == [False]
    assert again.is_set()
    assert read_manifest(tmp_path / "recording").slices == ()
