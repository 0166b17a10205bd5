"""From the node lists of Slurm's commands to names. Pure."""

import orjson

from common.errors import BadInput
from fabricscope.first_settings.cluster import is_name


def parse_node_names(body: bytes, where: str) -> list[str]:
    """Of ``scontrol show nodes --json`` and of ``sinfo --json``, which has groups of nodes since 23.02.

    BadInput when it is neither.
    """
    try:
        document = orjson.loads(body)
        if "sinfo" in document:
            names = [name for group in document["sinfo"] for name in group["nodes"]["nodes"]]
        else:
            names = [node["name"] for node in document["nodes"]]
    except (ValueError, TypeError, KeyError):
        raise BadInput(
            f"{where}: expected the output of `scontrol show nodes --json` or `sinfo --json`", "bad_format"
        ) from None
    return [name for name in names if isinstance(name, str) and is_name(name)]
