"""The files of a folder: each is read when it is new or has changed, and kept in memory for as long as it is there."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.errors import BadInput
from common.units import to_ns
from ingest.collectors.command import NoAnswer, raise_without_descriptors
from ingest.collectors.nccl_tests.config import Config
from ingest.collectors.nccl_tests.json_output import parse_json
from ingest.collectors.nccl_tests.result import Refusal, Result, refused
from ingest.collectors.nccl_tests.text_output import parse_text
from telemetry.samples import DownReason


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One version of a file. tests: in its order, or why one is not used."""

    changed_ns: int
    size: int
    tests: tuple[Result | BadInput, ...]


class Folder:
    """Of one thread at a time."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files: dict[Path, ResultFile] = {}

    def read(self, now_ns: int) -> tuple[list[ResultFile], list[tuple[Path, ResultFile]]]:
        """All files that are there, newest first, and those among them that were read just now.

        NoAnswer where the folder cannot be listed. A file that changes is as it was before until it has settled.
        """
        found = self._listed()
        settled_ns = now_ns - to_ns(self._config.settle_s)
        kept = {path: self._files[path] for path, _, _ in found if path in self._files}
        fresh = []
        for path, changed_ns, size in found:
            known = kept.get(path)
            if (known is None or (known.changed_ns, known.size) != (changed_ns, size)) and changed_ns <= settled_ns:
                kept[path] = ResultFile(changed_ns, size, self._tests(path, size))
                fresh.append((path, kept[path]))
        self._files = kept
        newest_first = sorted(kept, key=lambda path: (-kept[path].changed_ns, path))
        return [kept[path] for path in newest_first], fresh

    def _listed(self) -> list[tuple[Path, int, int]]:
        """Path, time of the last change and size of the newest files."""
        try:
            os.listdir(self._config.folder)
            found = sorted(self._stated(), key=lambda each: (-each[1], each[0]))
        except OSError as error:
            raise_without_descriptors(error)
            raise NoAnswer(DownReason.REFUSED, f"{self._config.folder}: {error.strerror}") from error
        return found[: self._config.limits.files_max]

    def _stated(self) -> Iterator[tuple[Path, int, int]]:
        for path in self._config.folder.glob(self._config.glob):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # removed since it was listed, or a link to nothing
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_mtime_ns, status.st_size

    def _tests(self, path: Path, size: int) -> tuple[Result | BadInput, ...]:
        limits = self._config.limits
        if size > limits.file_bytes_max:
            return (refused(Refusal.TOO_LARGE, f"more than {limits.file_bytes_max} bytes"),)
        try:
            with path.open("rb") as opened:
                body = opened.read(limits.file_bytes_max)
            return parse_file(body, limits.rows_max, path.name)
        except OSError as error:
            raise_without_descriptors(error)
            return (refused(Refusal.UNREADABLE, str(error.strerror)),)


def parse_file(body: bytes, rows_max: int, name: str) -> tuple[Result | BadInput, ...]:
    """The tests of a file in JSON or text. Pure."""
    try:
        if body.lstrip().startswith(b"{"):
            return (parse_json(body, rows_max),)
        return tuple(parse_text(body, rows_max, name))
    except BadInput as error:
        return (error,)
