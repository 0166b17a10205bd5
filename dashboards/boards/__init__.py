"""All boards; a new one is a module beside this file and a line here."""

from dashboards.boards import gpu_health, lossless_fabric, noc_wall
from dashboards.model import Board

ALL: tuple[Board, ...] = (noc_wall.BOARD, lossless_fabric.BOARD, gpu_health.BOARD)
