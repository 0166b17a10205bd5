"""The kinds of error that are not our own bug; our own bugs are assertions."""


class ConfigError(Exception):
    """The operator's configuration is wrong: stop at start, naming the key and what it accepts."""


class BadInput(Exception):
    """What a peer sent breaks the format: count it, dead-letter it, keep running.

    reason: one word from the closed set of the place that raises it, used as metric label.
    """

    def __init__(self, message: str, reason: str = "bad_input") -> None:
        super().__init__(message)
        self.reason = reason


class Unavailable(Exception):
    """A peer does not answer now: retry with growing, jittered waits up to a deadline.

    after_s: how long the peer asked us to wait at least, None when it did not say.
    """

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class Unauthorized(Unavailable):
    """A peer answers and refuses: our credentials or rights are wrong. Retrying helps once a person has fixed them."""


class Superseded(Exception):
    """A newer process does this one's work: publish nothing more, end, and start again only when a person says so."""
