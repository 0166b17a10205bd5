"""Whether pressure on the fabric explains that a job waits.

Hosts of a healthy cluster pause their switches for a moment, and a large job dips for reasons of its own. So where both
are ordinary, that they coincide shows nothing.
"""

from analytics.correlate.cause import SUPPORTS_ONLY, Cause
from analytics.correlate.pauses import End
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding
from telemetry.kinds import incident_kinds


def explains_wait(view: CorrelationView, cause: Cause, waits: Finding) -> bool:
    """Whether a job may wait for a cause. waits: shows that it does. Of what pages nobody before a job waits that takes
    more than one low bin, while other NICs of the job's hosts pause their switches too."""
    if incident_kinds()[cause.kind].pages_without_waiting or waits.confidence >= SUPPORTS_ONLY:
        return True
    ports = {origin.port for origin in view.origins if origin.end is End.EDGE} - {cause.root}
    return not any(waits.object.name in view.jobs.of(port) for port in ports)
