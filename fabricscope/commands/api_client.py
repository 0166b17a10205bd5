"""The API that a command asks: the one that is named, or the one of the settings."""

import os
from pathlib import Path

from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.config import ApiConfig
from fabricscope.client import Client
from fabricscope.settings import load_settings

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


def open_client(config_file: Path | None, url: str | None, token_file: Path | None, ca_file: Path | None) -> Client:
    """This machine's own token goes to the API of the settings alone, never to a ``url`` that is named."""
    if url is not None:
        return Client(url, token_file=token_file, ca_file=ca_file)
    config = load_settings(config_file).api
    return Client(url_of(config), token_file=token_file or _local_token(config), ca_file=ca_file)


def url_of(config: ApiConfig) -> str:
    """
    >>> url_of(ApiConfig(host="0.0.0.0", trusted_network=True))
    'http://127.0.0.1:9099'
    """
    host = _EVERYWHERE.get(config.host, f"[{config.host}]" if ":" in config.host else config.host)
    return f"{'https' if config.tls_cert_file else 'http'}://{host}:{config.port}"


def _local_token(config: ApiConfig) -> Path | None:
    """None where this user may not read it, or it is not there: reading may be open."""
    file = TokenStore(config.state_dir).local_file
    return file if os.access(file, os.R_OK) else None
