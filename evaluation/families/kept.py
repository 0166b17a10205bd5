"""Outcomes of clusters on disk: a long run can be done in pieces, and what the same code has run is not run again."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from common.errors import ConfigError
from evaluation.families.judge import ClusterOutcome

_ROOT = Path(__file__).parents[2]
_SOURCES = ("alerts", "analytics", "common", "evaluation/campaigns", "evaluation/families", "simulator", "telemetry")
_OUTCOME = TypeAdapter(ClusterOutcome)


def digest_of_sources(root: Path = _ROOT) -> str:
    """Changes with everything that an outcome depends on, but the libraries. root: of the repository."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".yaml"):
                digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


class KeptOutcomes:
    """A file with one line of JSON that says what it is of, and one for each outcome, in order.

    of: what the outcomes depend on, as JSON.
    """

    def __init__(self, path: Path, of: Mapping[str, Any]) -> None:
        self._path, self._first = path, json.dumps(of, sort_keys=True)

    def read(self) -> list[ClusterOutcome]:
        """All so far; a last line that was cut off is left out, and removed. ConfigError for a file of something else.

        A file that does not exist is begun.
        """
        if not self._path.exists():
            self.begin()
            return []
        text = self._path.read_text()
        whole = text[: text.rfind("\n") + 1]
        first, *lines = whole.splitlines() or [""]
        if first != self._first:
            raise ConfigError(f"{self._path}: other code or options than now; run without --resume to begin again")
        if whole != text:
            self._path.write_text(whole)
        return [_OUTCOME.validate_json(line) for line in lines]

    def begin(self) -> None:
        """An empty file, whatever was there."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._first + "\n")

    def add(self, outcome: ClusterOutcome) -> None:
        """Adds one more."""
        with self._path.open("a") as file:
            file.write(_OUTCOME.dump_json(outcome).decode() + "\n")
