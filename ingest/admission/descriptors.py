"""File descriptors that are not for connections to targets: for the bus, the spool, logs and names."""

import resource

RESERVED = 64


def is_reserved(descriptor: int) -> bool:
    """Whether so few are left that this one must be given back: the kernel always gives the lowest that is free."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return descriptor >= limit - min(RESERVED, limit // 4)
