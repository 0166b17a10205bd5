"""Who is told: the first route whose matchers fit the alert's labels."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from alerts.matcher import Matcher, all_match


class Route(BaseModel):
    """Alerts that fit all ``matchers`` go to ``receivers``; no receivers means that nobody is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    matchers: tuple[Matcher, ...] = Field(default=(), description="All must fit; none fits everything.")
    receivers: tuple[str, ...] = Field(description="Names of receivers.")


def receivers_for(routes: Sequence[Route], everyone: Sequence[str], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Sorted names. Without routes everyone is told; with routes, what fits none of them goes to everyone too:
    a page that nobody routed is better told twice than never."""
    for route in routes:
        if all_match(route.matchers, labels):
            return tuple(sorted(set(route.receivers)))
    return tuple(sorted(everyone))
