"""The address of a document that a collector reads, in its settings."""

from urllib.parse import urlsplit


def check_address(url: str) -> str:
    """ValueError for what is no address of a document. The message does not show it: it may hold a password."""
    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:  # a port that is no number is a ValueError of its own
        raise ValueError("expected http://host:port/path")
    return url
