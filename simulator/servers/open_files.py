"""Open files: one for each address, and one for the connection of each collector."""

import resource

from common.errors import ConfigError

_OTHERS = 100  # of the process itself


def allow_open_files(addresses: int) -> None:
    """Raises the soft limit as far as ``addresses`` and a connection to each need.

    ConfigError where the hard limit, which only an administrator raises, is less.
    """
    needed = 2 * addresses + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, hard) and hard < needed:
        raise ConfigError(
            f"simulator: {addresses:,} addresses, each with a connection, need {needed:,} open files, and this process "
            f"may have {hard:,}: expected fewer hosts, or a higher limit (ulimit -Hn)"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
