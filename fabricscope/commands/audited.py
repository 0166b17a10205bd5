"""Commands that change something: in the audit log like requests, under the name of the person at the keyboard."""

import getpass
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fabricscope.api.access.audit import AuditEntry, AuditLog
from fabricscope.api.access.token_store import TokenStore

ADDRESS = "command line"


@contextmanager
def audited_command(state_dir: Path, action: str, details: Mapping[str, str]) -> Iterator[None]:
    """Notes the command once it has ended, well or not, as done with this machine's own token.

    ConfigError and Unavailable when the state folder cannot be written: then nothing is done.
    """
    audit = AuditLog(state_dir)
    token = TokenStore(state_dir).ensure_local(time.time_ns())
    audit.check()
    result = "failed"
    try:
        yield
        result = "done"
    finally:
        by = {"login": login_name(), **details}
        audit.append(AuditEntry(time.time_ns(), token.name, token.id, ADDRESS, action, result, by))


def login_name() -> str:
    """'' where there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""
