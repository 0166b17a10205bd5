"""What began at once: findings in groups by their onset."""

from collections.abc import Iterable, Iterator

from telemetry.findings import Finding


def at_once(findings: Iterable[Finding], within_ns: int) -> Iterator[list[Finding]]:
    """Findings in groups, by onset: those of a group began at most ``within_ns`` after its first one.

    What fails by itself does not do so at the same time as others: n parts that each fail once in a time T make k such
    failures within w at a rate of k·C(n, k)·w^(k-1)/T^k. Of 1,000 that fail once a year, three do so within 30 s once
    in 2,200 years; so a group has something in common.
    """
    group: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.onset_ns, each.id)):
        if group and finding.onset_ns - group[0].onset_ns > within_ns:
            yield group
            group = []
        group.append(finding)
    if group:
        yield group
