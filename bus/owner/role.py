"""Which processes do the same work: those of one stage whose outputs go to the same place."""

import hashlib
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from common.errors import Unavailable
from common.secrets import read_secret_text

_DIGEST_BYTES = 8  # two of a stage that are meant to differ share one by chance once in 2**64
# Who reads the owners topic may guess at what was hashed, passwords among it: each guess costs 16 MiB and some 50 ms.
# RFC 7914 with the parameters that it gives for interactive use.
_LOOPBACK = re.compile(rb"\blocalhost\b|(?<![\d.])127\.\d|(?<![0-9a-f:])::1\b")
_SCRYPT_COST, _SCRYPT_BLOCK, _SCRYPT_PARALLEL = 2**14, 8, 1


@dataclass(frozen=True, slots=True)
class Role:
    """stage: its name. digest: of where its outputs go, '' where one process of the stage has a bus for itself."""

    stage: str
    digest: str = ""

    @property
    def name(self) -> str:
        """As the bus and receivers see it."""
        return f"{self.stage}-{self.digest}" if self.digest else self.stage


def role_of(stage: str, destination: Any) -> Role:
    """The role of a process whose outputs go to ``destination``: settings as JSON takes them, secrets included.

    Equal destinations have equal roles, whatever the order of their keys; one on the loopback is that of this machine
    alone. Blocking, for some 50 ms.

    >>> role_of("alerts", {"url": "http://a", "to": 1}) == role_of("alerts", {"to": 1, "url": "http://a"})
    True
    >>> role_of("alerts", {"url": "http://a"}) == role_of("alerts", {"url": "http://b"})
    False
    """
    text = orjson.dumps(destination, option=orjson.OPT_SORT_KEYS)
    if _LOOPBACK.search(text):
        text += socket.gethostname().encode()
    digest = hashlib.scrypt(
        text, salt=stage.encode(), n=_SCRYPT_COST, r=_SCRYPT_BLOCK, p=_SCRYPT_PARALLEL, dklen=_DIGEST_BYTES
    )
    return Role(stage, digest.hex())


def with_contents(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with what is in each ``…_file``, as far as it can be read: paths differ between machines.

    Without ``ca_file``, which says whom to trust and not where anything goes.
    """
    return {key: _content(key, value) for key, value in settings.items() if key != "ca_file"}


def _content(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return with_contents(value)
    if not key.endswith("_file") or not isinstance(value, str):
        return value
    try:
        return read_secret_text(Path(value))
    except Unavailable:  # in rotation, or missing: its user says so
        return value
