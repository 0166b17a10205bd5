"""What began at once: findings, or what they are evidence of, in groups by onset."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class Begins(Protocol):
    @property
    def onset_ns(self) -> int: ...

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Begins)


def at_once(found: Iterable[T], within_ns: int) -> Iterator[list[T]]:
    """Things in groups, by onset: those of a group began at most ``within_ns`` after its first one.

    What fails by itself does not do so at the same time as others: n parts that each fail once in a time T make k such
    failures within w at a rate of k·C(n, k)·w^(k-1)/T^k. Of 1,000 that fail once a year, three do so within 30 s once
    in 2,200 years; so a group has something in common.
    """
    group: list[T] = []
    for one in sorted(found, key=lambda each: (each.onset_ns, each.id)):
        if group and one.onset_ns - group[0].onset_ns > within_ns:
            yield group
            group = []
        group.append(one)
    if group:
        yield group
