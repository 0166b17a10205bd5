"""How much one target may send: a bucket that fills at the allowed rate and holds two seconds of it."""


class Quota:
    """per_s: the rate allowed. The first two seconds' worth may come at once: a first sync always does."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._room = 2 * per_s
        self._at_ns: int | None = None

    def take(self, amount: int, now_ns: int) -> int:
        """How many of ``amount`` are within the quota now; they are taken."""
        if self._at_ns is not None:
            passed_s = max(0, now_ns - self._at_ns) / 1e9
            self._room = min(2 * self._per_s, self._room + passed_s * self._per_s)
        self._at_ns = now_ns
        allowed = min(amount, int(self._room))
        self._room -= allowed
        return allowed
