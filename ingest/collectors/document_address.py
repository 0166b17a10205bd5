"""The address of a document that a collector reads, in its settings."""

from urllib.parse import urlsplit


def check_address(url: str) -> str:
    """ValueError for what is no address of a document, or has a password, which would be in every log line of it."""
    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:  # a port that is no number is a ValueError of its own
        raise ValueError(f"{url[:80]!r}: expected http://host:port/path")
    if "@" in parts.netloc:
        raise ValueError("expected http://host:port/path without user name and password")
    return url
