"""One runbook a kind of incident, as Markdown: what it means, how to confirm it, what to do first, how it ends."""

import re
from functools import cache
from importlib.resources import files

from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef

_PLACEHOLDER = re.compile(r"\{(root|device|part|peer_device)\}")
# People copy commands from here, and names come from devices and job owners: what a shell would act on is left out.
_HARMLESS = re.compile(r"\w[\w./:@+-]*", re.ASCII)


def runbook(kind: IncidentKind, root: ObjectRef | None = None) -> str:
    """The runbook with the names of ``root`` in it. A name that there is not, or no shell should see, is ``<device>``.

    >>> print(runbook(IncidentKind.WEAR, ObjectRef(ObjectKind.PORT, "leaf1/Ethernet4")).splitlines()[2])
    About leaf1/Ethernet4.
    """
    names = _names(root) if root is not None else {}

    def filled(found: re.Match[str]) -> str:
        name = names.get(found[1], "")
        return name if _HARMLESS.fullmatch(name) else f"<{found[1].replace('_', ' ')}>"

    return _PLACEHOLDER.sub(filled, _text(kind))


def _names(root: ObjectRef) -> dict[str, str]:
    """part: the port, GPU or storage target. Of a link those of its first port, and the device of the other one."""
    one, _, other = root.name.partition("--") if root.kind is ObjectKind.LINK else (root.name, "", "")
    device, _, part = one.partition("/")
    return {"root": root.name, "device": device, "part": part, "peer_device": other.partition("/")[0]}


@cache
def _text(kind: IncidentKind) -> str:
    return files("telemetry.runbooks").joinpath(f"{kind}.md").read_text()
