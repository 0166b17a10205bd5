"""Programs that made an error on a GPU: somebody's own bug, and no fault of the cluster."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.texts.phrases import short
from analytics.correlate.view import CorrelationView
from common.errors import BadInput
from telemetry import objects
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef
from telemetry.series import parse_series_key


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a job, whatever the number of its GPUs; the GPU where nobody knows the job."""
    roots: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.PROGRAM_ERROR):
        roots[_job(finding) or finding.object].append(finding)
    for root in sorted(roots):
        found = roots[root]
        gpus, codes = {finding.object for finding in found}, sorted({_code(finding) for finding in found})
        on = f"{len(gpus)} GPUs" if len(gpus) > 1 else short(min(gpus), view.graph)
        xids = ", ".join(f"{code:.0f}" for code in codes)
        reason = f"the driver stopped its program on {on} with XID {xids}, which blames the program and not the GPU"
        yield cause_of(IncidentKind.PROGRAM_FAILED, root, frozenset(finding.id for finding in found), reason)


def _code(finding: Finding) -> float:
    return next((one.value for one in finding.evidence if one.unit == "XID"), 0.0)


def _job(finding: Finding) -> ObjectRef | None:
    """The job that the finding names."""
    for one in finding.evidence:
        if one.unit == "programs":
            try:
                job_id = parse_series_key(one.series)[1].get("job_id", "")
            except BadInput:
                continue
            if job_id:
                return objects.job(job_id)
    return None
