"""Whether a sender may write."""

import hmac

from common.secrets import bearer
from ingest.collectors.remote_write.config import Config


def is_let_in(config: Config, authorization: str) -> bool:
    """Compares the header ``Authorization`` with what the settings' file holds now.

    True where no credentials are asked for. Unavailable when the file cannot be read.
    """
    if config.basic_auth is not None:
        expected = config.basic_auth.authorization()
    elif config.bearer_token_file is not None:
        expected = bearer(config.bearer_token_file)
    else:
        return True
    return hmac.compare_digest(authorization.encode("utf-8", "surrogateescape"), expected.encode())


def asks_for(config: Config) -> str:
    """The value of ``WWW-Authenticate``."""
    return "Basic" if config.basic_auth is not None else "Bearer"
