"""Which metrics show events, from which value on, and what knows the time of one better."""

from dataclasses import dataclass

from analytics.detectors.telemetry.device_rebooted import SAME_BOOT_S
from telemetry.events import EventKind

# A share of time below which a pause is one of many: healthy ports pause for 0.3 % of it.
_BRIEF_SHARE = 0.01
# A PFC frame stops a priority for 65535 quanta of 512 bit times at most (IEEE 802.1Qbb): at 100 Gb/s so many frames a
# second cannot stop it for more than that share of time.
_BRIEF_FRAMES = 30.0


@dataclass(frozen=True, kw_only=True)
class Source:
    """A metric by which events of one kind are seen.

    well: of a state, the value from which on nothing is wrong; None: a counter, whose growth is the event.
    brief: growth a second below which it is summed by the hour. unless: metrics that show the same better, of the same
    object and labels; of the same object where ``by_object``. begins, lasts: gauges with the time in seconds at which
    the newest one began, and its length. changes: a code, a change of which is the event; steps: by more than this.
    first: its series begin with an event, as ``begins`` says: the first value is one where that was lately.
    since: the value is the time in seconds since the newest one, and less than before shows another one.
    outage: of a count of links, by how much one that is down and up again raises it; state: the metric whose readings
    show the link, and shows_up: from which value on it is up. An outage that a reading shows is none of these events.
    """

    metric: str
    kind: EventKind
    well: float | None = None
    brief: float = 0.0
    unit: str = ""
    unless: tuple[str, ...] = ()
    by_object: bool = False
    begins: str = ""
    lasts: str = ""
    changes: bool = False
    steps: float = 0.0
    first: bool = False
    since: bool = False
    outage: float = 0.0
    state: str = ""
    shows_up: float = 0.0


_BEGINS = "fabric_port_pfc_recent_pause_timestamp_seconds"
_LASTS = "fabric_port_pfc_recent_pause_estimated_seconds"
_TIMED, _ESTIMATED = "fabric_port_pfc_pause_seconds_total", "fabric_port_pfc_pause_estimated_seconds_total"
_NIC_TIMED = "nic_pfc_pause_seconds_total"
_BOOTED, _HOST_BOOTED = "fabric_device_boot_time_seconds", "node_boot_time_seconds"
_PROCESS = "nccl_process_event_timestamp_seconds"
_BMC = "node_bmc_event_timestamp_seconds"
_BMC_CLOCK_S = 10.0  # by which the time of an entry differs when it is read again, where the clock has to be corrected
_PFC, _STORM = EventKind.PFC_PAUSE, EventKind.PFC_WATCHDOG
_BOUNCED, _OUTAGES = EventKind.LINK_BOUNCED, "outages"

SOURCES = (
    Source(metric=_TIMED, kind=_PFC, brief=_BRIEF_SHARE, unit="seconds", begins=_BEGINS, lasts=_LASTS),
    Source(
        metric=_ESTIMATED,
        kind=_PFC,
        brief=_BRIEF_SHARE,
        unit="seconds",
        unless=(_TIMED,),
        begins=_BEGINS,
        lasts=_LASTS,
    ),
    Source(
        metric="fabric_port_pfc_pause_frames_total",
        kind=_PFC,
        brief=_BRIEF_FRAMES,
        unit="frames",
        unless=(_TIMED, _ESTIMATED),
    ),
    Source(metric=_NIC_TIMED, kind=_PFC, brief=_BRIEF_SHARE, unit="seconds"),
    Source(metric="nic_pfc_pause_frames_total", kind=_PFC, brief=_BRIEF_FRAMES, unit="frames", unless=(_NIC_TIMED,)),
    Source(metric="nic_pause_seconds_total", kind=EventKind.PAUSE, brief=_BRIEF_SHARE, unit="seconds"),
    Source(metric="fabric_pfc_watchdog_operational", kind=_STORM, well=1.0),
    Source(
        metric="fabric_pfc_watchdog_storms_total",
        kind=_STORM,
        unit="storms",
        unless=("fabric_pfc_watchdog_operational",),
    ),
    Source(metric="gpu_xid_errors_total", kind=EventKind.XID, unit="XIDs"),
    Source(metric="gpu_xid_last", kind=EventKind.XID, changes=True, unless=("gpu_xid_errors_total",), by_object=True),
    Source(metric="nvswitch_sxid_errors_total", kind=EventKind.SXID, unit="SXids"),
    Source(
        metric="nvswitch_sxid_last",
        kind=EventKind.SXID,
        changes=True,
        unless=("nvswitch_sxid_errors_total",),
        by_object=True,
    ),
    Source(metric="fabric_port_up", kind=EventKind.LINK_DOWN, well=1.0),
    Source(metric="nic_up", kind=EventKind.LINK_DOWN, well=1.0),
    Source(metric="ib_port_physical_state", kind=EventKind.LINK_DOWN, well=5.0),  # 5: link up (IBTA PortPhysicalState)
    Source(
        metric="fabric_port_flaps_total", kind=_BOUNCED, unit=_OUTAGES, outage=2.0, state="fabric_port_up", shows_up=1.0
    ),
    Source(metric="nic_flaps_total", kind=_BOUNCED, unit=_OUTAGES, outage=2.0, state="nic_up", shows_up=1.0),
    Source(
        metric="ib_port_link_downed_total",
        kind=_BOUNCED,
        unit=_OUTAGES,
        outage=1.0,  # IBTA LinkDowned counts failures, the others each change of the carrier
        state="ib_port_physical_state",
        shows_up=5.0,
    ),
    Source(metric="fabric_bgp_session_up", kind=EventKind.BGP_DOWN, well=1.0),
    Source(metric=_HOST_BOOTED, kind=EventKind.REBOOT, changes=True, steps=SAME_BOOT_S, begins=_HOST_BOOTED),
    Source(metric=_BOOTED, kind=EventKind.REBOOT, changes=True, steps=SAME_BOOT_S, begins=_BOOTED),
    Source(metric="fabric_device_uptime_seconds", kind=EventKind.REBOOT, since=True, unless=(_BOOTED,)),
    Source(metric=_PROCESS, kind=EventKind.NCCL_PROCESS, changes=True, begins=_PROCESS, first=True),
    Source(metric=_BMC, kind=EventKind.BMC_LOG, changes=True, steps=_BMC_CLOCK_S, begins=_BMC, first=True),
)
