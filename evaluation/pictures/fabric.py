"""Pauses, marks and queues of a day, as each family of switches reports them."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from evaluation.pictures.day import Day, Floats, Ports
from evaluation.pictures.published import PAUSE_FRAMES
from evaluation.pictures.style import BLACK, BLUE, GREEN, ORANGE, PUBLISHED, RED, hour_axis, panels, save, spread
from simulator.fabric import parameters as par

DETECTION = 0.05  # pause_ratio_max of the detectors of pauses
MEGA = 1e6
_TIERS = {"hosts": BLUE, "uplinks": GREEN, "spines": ORANGE}
_NAMES = {"hosts": "leaf to host", "uplinks": "leaf to spine", "spines": "spine to leaf"}


def draw_pauses(day: Day, path: Path) -> None:
    """One panel a family: share of time where it is counted, frames where only they are."""
    figure, (nvidia, arista, broadcom, cisco) = panels(2, 2, 7.2)
    hosts, spines = day.tiers["hosts"], day.tiers["spines"]
    for axes, title in (
        (nvidia, "NVIDIA Spectrum (SONiC, Cumulus): µs of pause"),
        (arista, "Arista: ns of pause"),
        (broadcom, "Broadcom (SONiC): frames and transitions, no time"),
        (cisco, "Cisco 8000: frames alone"),
    ):
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_yscale("log")
        hour_axis(axes, day.hours)
    spread(nvidia, 100 * hosts.pause_share, day.hours, BLUE, "leaf to host")
    spread(nvidia, 100 * day.tiers["uplinks"].pause_share, day.hours, GREEN, "leaf to spine")
    spread(arista, 100 * spines.pause_share, day.hours, ORANGE, "spine to leaf")
    for axes in (nvidia, arista, broadcom):
        axes.axhline(100 * DETECTION, color=RED, lw=1.0, ls=":")
        axes.set_ylim(0.0001, 150)
        axes.set_ylabel("pause received, % of the time")
    spread(broadcom, 100 * from_frames(hosts), day.hours, BLUE, "from frames")
    spread(broadcom, 100 * from_transitions(hosts), day.hours, GREEN, "from transitions")
    spread(broadcom, 100 * hosts.pause_share, day.hours, BLACK, "true")
    nvidia.annotate("a detector's limit", (0.01, 100 * DETECTION), xycoords=("axes fraction", "data"), color=RED)
    spread(cisco, hosts.frames, day.hours, BLUE, "leaf to host")
    cisco.axhspan(PAUSE_FRAMES.low, PAUSE_FRAMES.high, color=PUBLISHED, alpha=0.18, lw=0)
    cisco.annotate(
        f"{PAUSE_FRAMES.words} [1]",
        (0.99, 6e3),
        xycoords=("axes fraction", "data"),
        ha="right",
        color=PUBLISHED,
    )
    cisco.set_ylabel("pause frames received a second")
    cisco.set_ylim(0.5, 3e4)
    _legends(nvidia, arista, broadcom, cisco)
    save(figure, path)


def from_frames(ports: Ports) -> Floats:
    """The share of time that pause frames give at most: each is renewed at half its life (802.1Qbb)."""
    share: Floats = np.minimum(1.0, ports.frames * par.PAUSE_QUANTA_BITS / ports.bits_per_second)
    return share


def from_transitions(ports: Ports) -> Floats:
    """An estimate: a pause lasts as long as the line takes to drain the hysteresis between XOFF and XON."""
    share: Floats = np.minimum(1.0, ports.transitions * par.XON_HYSTERESIS_BYTES * 8 / ports.bits_per_second)
    return share


def draw_marks(day: Day, path: Path) -> None:
    """Marked packets by tier where they are counted, and what a switch shows that also counts marks on arrival."""
    figure, (here, arrived) = panels(1, 2, 3.9)
    for name, colour in _TIERS.items():
        spread(here, 100 * day.tiers[name].marked, day.hours, colour, _NAMES[name])
    here.set_title("marked here: SONiC (when switched on), Cumulus, Arista", fontsize=10, loc="left")
    hosts = day.tiers["hosts"]
    spread(arrived, 100 * hosts.marked, day.hours, BLUE, "marked here")
    spread(arrived, 100 * hosts.arrived, day.hours, RED, "with marks on arrival")
    arrived.set_title("leaf to host: IOS XR counts marks on arrival too", fontsize=10, loc="left")
    for axes in (here, arrived):
        axes.set_yscale("log")
        axes.set_ylim(0.001, 200)
        axes.set_ylabel("packets with ECN mark, %")
        hour_axis(axes, day.hours)
    _legends(here, arrived)
    save(figure, path)


def draw_queues(day: Day, path: Path) -> None:
    """Watermarks against samples of the same queues, with the thresholds that act on them."""
    figure, (course, shares) = panels(1, 2, 3.9)
    hosts = day.tiers["hosts"]
    peak_mb, sampled_mb = hosts.peak / MEGA, hosts.sampled / MEGA
    spread(course, peak_mb, day.hours, BLUE, "watermark of 60 s")
    sampled = sampled_mb[: peak_mb.shape[0] * (sampled_mb.shape[0] // peak_mb.shape[0])]
    highest = sampled.reshape(peak_mb.shape[0], -1, peak_mb.shape[1]).max(axis=1)
    spread(course, highest, day.hours, ORANGE, "highest of 6 samples")
    course.set_ylabel("bytes in the queue, MB")
    course.set_title("leaf to host, by time", fontsize=10, loc="left")
    hour_axis(course, day.hours)
    for values, colour, name in (
        (peak_mb, BLUE, "watermark of 60 s: SONiC, Cumulus"),
        (sampled_mb, ORANGE, "sample of 10 s: occupancy alone"),
    ):
        flat = np.sort(values.ravel())
        places = np.linspace(0, flat.size - 1, 400).astype(int)
        shares.plot(flat[places], 100 * places / (flat.size - 1), color=colour, lw=1.3, label=name)
    shares.set_xlabel("bytes in the queue, MB")
    shares.set_ylabel("readings at most that, %")
    shares.set_title("leaf to host, all readings", fontsize=10, loc="left")
    _thresholds(course, shares, hosts.bits_per_second)
    course.set_ylim(-1, 45)
    course.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")
    shares.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.05))
    save(figure, path)


def _thresholds(course: Axes, shares: Axes, bits_per_second: float) -> None:
    marks = {
        "Kmin [1]": par.ECN_KMIN_BYTES_PER_BPS * bits_per_second,
        "Kmax [1]": par.ECN_KMAX_BYTES_PER_BPS * bits_per_second,
        "XOFF of one sender": par.XOFF_ALPHA * par.BUFFER_BYTES,
    }
    for words, size in marks.items():
        colour = PUBLISHED if "[1]" in words else RED
        course.axhline(size / MEGA, color=colour, lw=0.9, ls=":")
        shares.axvline(size / MEGA, color=colour, lw=0.9, ls=":")
        left = words.startswith("Kmax")  # XOFF is close to the right of it
        at = (size / MEGA + (-0.3 if left else 0.3), 94)
        shares.annotate(words, at, color=colour, fontsize=8, rotation=90, ha="right" if left else "left", va="top")


def _legends(*all_axes: Axes) -> None:
    for axes in all_axes:
        axes.legend(fontsize=8, frameon=True, framealpha=0.8, edgecolor="none", ncols=2, loc="best")
