"""All boards; a new one is a module beside this file and a line here."""

from dashboards.boards import (
    capacity,
    device,
    fabric_links,
    gpu,
    gpu_health,
    incidents,
    job,
    jobs,
    lossless_fabric,
    noc_wall,
    node,
    optics_cables,
    pipeline,
    port,
    power_cooling,
    storage,
)
from dashboards.model import Board

ALL: tuple[Board, ...] = (
    noc_wall.BOARD,
    *(fabric_links.BOARD, lossless_fabric.BOARD, optics_cables.BOARD, gpu_health.BOARD, jobs.BOARD),
    *(storage.BOARD, power_cooling.BOARD, pipeline.BOARD, incidents.BOARD, capacity.BOARD),
    *(port.BOARD, device.BOARD, node.BOARD, gpu.BOARD, job.BOARD),
)
