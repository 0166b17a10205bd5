"""GPUs as people know them: by their place in the host, and by what stands on their label."""

from fabricscope.api.wall.gpus import GPU_INFO
from fabricscope.api.wall.shown import Shown
from telemetry.topology import UNKNOWN_INDEX, Gpu


def gpu_names(model: Shown) -> dict[str, str]:
    """Name for people of each GPU, by ``host/UUID``: as the topology has it, and where that has none as its own
    telemetry states it, which is how analytics calls them, too."""
    found = {}
    for one in model.gpu_info.all():
        device, uuid, index = (one.labels.get(name, "") for name in ("device", "gpu", "index"))
        if one.metric == GPU_INFO and device and uuid:
            number = int(index) if index.isdecimal() else UNKNOWN_INDEX
            found[f"{device}/{uuid}"] = Gpu(device, uuid, number, serial=one.labels.get("serial", "")).label
    return found | {f"{gpu.device}/{gpu.uuid}": gpu.label for gpu in model.topology.entities(Gpu)}
