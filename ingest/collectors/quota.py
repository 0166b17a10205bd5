"""How much one target may send: a token bucket that holds two seconds of the allowed rate."""

from common.units import NS_PER_S


class Quota:
    """per_s: the rate allowed. Two seconds' worth may come at once: a first sync always does."""

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._tokens = 2 * per_s
        self._at_ns: int | None = None

    def admit(self, amount: int, now_ns: int) -> int:
        """How many of ``amount`` are within the quota now; they use it up."""
        self._refill(now_ns)
        admitted = min(amount, int(self._tokens))
        self._tokens -= admitted
        return admitted

    def admit_all(self, amount: int, now_ns: int) -> bool:
        """Whether all of ``amount`` are within the quota now; then they use it up, else nothing does.

        >>> quota = Quota(5.0)
        >>> quota.admit_all(8, 0), quota.admit_all(3, 0), quota.admit_all(2, 0)
        (True, False, True)
        """
        self._refill(now_ns)
        if amount > self._tokens:
            return False
        self._tokens -= amount
        return True

    def wait_s(self, amount: int, now_ns: int) -> float:
        """0 when all of ``amount`` are within the quota now, which they then use up; else in how many seconds.

        An amount beyond two seconds' worth is within it once nothing else was.
        """
        self._refill(now_ns)
        missing = min(float(amount), 2 * self._per_s) - self._tokens
        if missing > 0:
            return missing / self._per_s
        self._tokens = max(0.0, self._tokens - amount)
        return 0.0

    def _refill(self, now_ns: int) -> None:
        if self._at_ns is not None:
            passed_s = max(0, now_ns - self._at_ns) / NS_PER_S
            self._tokens = min(2 * self._per_s, self._tokens + passed_s * self._per_s)
        self._at_ns = now_ns
