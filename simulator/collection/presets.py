"""``PRESETS``: ways in which telemetry is collected in the field, by name. Each differs from the ideal in one respect.

Sources of the numbers:

- SONiC's flex counters (``counterpoll show`` of sonic-utilities): ports 1 s, queues and their ECN marks 10 s,
  watermarks of queues and priority groups 60 s. Its xcvrd reads transceivers every 60 s.
- dcgm-exporter reads DCGM every 30 s (``--collect-interval``, default 30000 ms), however often it is scraped; NVIDIA's
  page on Prometheus for DCGM Exporter scrapes it every 30 s, and says that a scrape between two reads repeats values.
- Prometheus scrapes every 60 s by default (``scrape_interval: 1m``), 15 s in the configuration that it ships, and gives
  up after 10 s (``scrape_timeout``).
- Slurm: the README of prometheus-slurm-exporter strongly advises 30 s, so that squeue does not overload the controller.
  15 s is the default of ingest/collectors/slurm.
- Pause time and on/off transitions by priority: NVIDIA's SAI and Arista's paths have them; Broadcom's and Cisco's
  switches export frames. node_exporter reads NIC counters of PFC only with its ethtool collector, which is off by
  default, and not every driver counts pause time.
- SONiC counts ECN marks after ``counterpoll wredqueue enable`` only.

Everything else is an assumption: no operator publishes how much of his telemetry is lost, late or wrong.
"""

from simulator.collection.config import (
    Clocks,
    CollectionConfig,
    Durations,
    Inventory,
    Losses,
    Timing,
)

# Polls of a busy exporter: one in a hundred takes longer than a second, one in 100,000 times out. Assumption
_BUSY = Durations(median_s=0.1, sigma=1.0)
_MONTH_S = 30 * 86_400.0
# Of a collector that has more to do than it can; assumption
_JITTER_S = 0.5

PRESETS: dict[str, CollectionConfig] = {
    "ideal": CollectionConfig(),
    "mixed-intervals": CollectionConfig(
        states=Timing(interval_s=(10.0,), jitter_s=_JITTER_S),
        ports=Timing(interval_s=(1.0,)),
        queues=Timing(interval_s=(10.0,), jitter_s=_JITTER_S),
        watermarks=Timing(interval_s=(60.0,), jitter_s=_JITTER_S),
        optics=Timing(interval_s=(60.0,), jitter_s=_JITTER_S),
        dcgm=Timing(interval_s=(30.0,), jitter_s=_JITTER_S),
        node=Timing(interval_s=(15.0, 30.0, 60.0), jitter_s=_JITTER_S),
        lustre=Timing(interval_s=(30.0,), jitter_s=_JITTER_S),
    ),
    "cached": CollectionConfig(
        # 1 s is SONiC's default; up to 10 s is set where a switch's processor has too little time. Assumption
        ports=Timing(refresh_s=(1.0, 5.0, 10.0), refresh_jitter_s=_JITTER_S),
        queues=Timing(refresh_s=(10.0,), refresh_jitter_s=_JITTER_S),
        watermarks=Timing(refresh_s=(60.0,), refresh_jitter_s=_JITTER_S),
        optics=Timing(refresh_s=(60.0,), refresh_jitter_s=_JITTER_S),
        dcgm=Timing(refresh_s=(30.0,), refresh_jitter_s=_JITTER_S),
        durations=_BUSY,
    ),
    "frames-only": CollectionConfig(
        absent=(
            "fabric_port_pfc_pause_seconds_total",
            "fabric_port_pfc_transitions_total",
            "nic_pfc_pause_seconds_total",
            "nic_pfc_transitions_total",
        )
    ),
    "no-ecn": CollectionConfig(
        absent=("fabric_queue_ecn_marked_packets_total", "fabric_queue_ecn_marked_bytes_total"),
    ),
    "lossy": CollectionConfig(
        # 1 % of a good target's time, 10 % of that of one target in ten; assumption
        losses=Losses(
            bad_share=0.01,
            burst_s=40.0,
            loss_in_bad=0.9,
            loss_in_good=0.002,
            failed_share=0.5,
            worse_share=0.1,
            worse_factor=10.0,
        ),
        durations=_BUSY,
    ),
    # A switch without NTP, set by hand: seconds off, and a crystal of tens of ppm. Assumption
    "skewed-clocks": CollectionConfig(clocks=Clocks(skewed_share=0.5, offset_s=8.0, drift_ppm=100.0)),
    "slow-slurm": CollectionConfig(jobs_interval_s=(15.0, 30.0, 60.0)),
    "stale-inventory": CollectionConfig(
        # Shares of a list that people keep by hand; assumption
        inventory=Inventory(
            age_s=_MONTH_S,
            links_missing=0.05,
            links_elsewhere=0.05,
            racks_missing=0.1,
            racks_exchanged=0.25,
            gpus_missing=0.05,
            hosts_replaced=0.1,
        )
    ),
    "no-inventory": CollectionConfig(inventory=Inventory(known=False)),
    # No LLDP and no list of racks, as where hosts run none and the list is of another department: what is left are
    # devices with their roles, GPUs, file systems. Assumption
    "no-cables": CollectionConfig(inventory=Inventory(links_missing=1.0, racks_missing=1.0)),
    "nothing-known": CollectionConfig(inventory=Inventory(known=False), jobs_known=False),
    "sessions": CollectionConfig(sessions=True),
    "unannounced": CollectionConfig(maintenance_announced=False),
}


def preset(names: str) -> CollectionConfig:
    """One of ``PRESETS``, or several of them joined by ``+``. ValueError for others, and for two that contradict.

    >>> preset("frames-only+lossy").losses == PRESETS["lossy"].losses
    True
    """
    fields: dict[str, object] = {}
    for name in names.split("+"):
        if name not in PRESETS:
            raise ValueError(f"no preset {name!r}, expected some of {', '.join(PRESETS)}, joined by +")
        for field in PRESETS[name].model_fields_set:
            value = getattr(PRESETS[name], field)
            if field == "absent":
                value = (*fields.get(field, ()), *value)  # type: ignore[misc]  # a tuple of names
            elif fields.get(field, value) != value:
                raise ValueError(f"{names}: expected presets that do not contradict: {name} has other {field}")
            fields[field] = value
    return CollectionConfig.model_validate(fields)
