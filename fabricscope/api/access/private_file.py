"""Files of what lets somebody in."""

import os
from pathlib import Path


def replace_private(path: Path, content: bytes) -> None:
    """Durable, whole for every reader, and for its owner alone (mode 0600). Raises OSError."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)  # its mode is ours, whoever left it
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
