"""Secrets in files: read at each use, so that they rotate without a restart, and never shown."""

import base64
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from common.errors import Unavailable

SECRET_BYTES_MAX = 64 * 1024


def read_secret(file: Path) -> bytes:
    """The file's content without white space around it.

    Unavailable when it is missing, not readable or empty: it may be in rotation. The message names the file alone.
    """
    try:
        with file.open("rb") as stream:
            secret = stream.read(SECRET_BYTES_MAX).strip()
    except OSError as error:
        raise Unavailable(f"secret file {file}: {error.strerror}") from None
    if not secret:
        raise Unavailable(f"secret file {file} is empty")
    return secret


def read_secret_text(file: Path) -> str:
    """The same as text; Unavailable also when it is no UTF-8."""
    try:
        return read_secret(file).decode()
    except UnicodeDecodeError:  # whose own message would show what it found
        raise Unavailable(f"secret file {file} is not UTF-8 text") from None


def bearer(token_file: Path) -> str:
    """The value of an ``Authorization`` header with a token; Unavailable as ``read_secret``."""
    return f"Bearer {read_secret_text(token_file)}"


class BasicAuth(BaseModel):
    """User name and the file with the password."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    username: str = Field(description="User name.")
    password_file: Path = Field(description="File with the password, read again at each use.")

    def password(self) -> str:
        """What the file holds now; Unavailable as ``read_secret_text``."""
        return read_secret_text(self.password_file)

    def authorization(self) -> str:
        """The value of an ``Authorization`` header (RFC 7617); Unavailable as ``read_secret``."""
        pair = self.username.encode() + b":" + read_secret(self.password_file)
        return "Basic " + base64.b64encode(pair).decode()
