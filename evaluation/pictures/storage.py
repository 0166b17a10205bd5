"""Time of requests of a day, by kind of storage target."""

from pathlib import Path

import numpy as np

from evaluation.pictures.day import Day
from evaluation.pictures.style import BLUE, ORANGE, hour_axis, panels, save, spread

MILLI = 1e3


def draw_storage(day: Day, path: Path) -> None:
    """Reads and writes, of targets of flash and of disks; each value is the mean of one target and minute."""
    figure, (reads, writes) = panels(1, 2, 3.9, sharey=True)
    for axes, seconds, title in ((reads, day.read_s, "reads"), (writes, day.write_s, "writes (checkpoints)")):
        for mine, colour, name in ((~day.disks, BLUE, "flash"), (day.disks, ORANGE, "disks")):
            spread(axes, MILLI * seconds[:, np.flatnonzero(mine)], day.hours, colour, name)
        axes.set_title(f"{title} of 1 MiB", fontsize=10, loc="left")
        axes.set_yscale("log")
        axes.set_ylabel("time of a request, ms")
        hour_axis(axes, day.hours)
        axes.legend(fontsize=8, framealpha=0.8, edgecolor="none", ncols=2, loc="upper left")
    save(figure, path)
