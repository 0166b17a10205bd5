"""Series of exporters of which no page is at hand that may be kept here, in the form that their projects document."""

import pytest

from tests.unit.ingest.exposition.mapped import canonical, key

RDMA = 'device="mlx5_0",netdev="ens1",port="1"'
LINES = [
    # NICs of Broadcom, by ethtool: node_exporter spells rx and tx out where they stand alone
    (
        "node_exporter",
        'node_ethtool_received_pfc_ena_frames_pri3{device="p1"} 7',
        key("nic_pfc_pause_frames_total", port="p1", priority="3", direction="rx"),
        7.0,
    ),
    (
        "node_exporter",
        'node_ethtool_pfc_pri3_received_duration_us{device="p1"} 2500000',
        key("nic_pfc_pause_seconds_total", port="p1", priority="3", direction="rx"),
        2.5,
    ),
    (
        "node_exporter",
        'node_ethtool_pfc_pri5_transmitted_transitions{device="p1"} 4',
        key("nic_pfc_transitions_total", port="p1", priority="5", direction="tx"),
        4.0,
    ),
    (
        "node_exporter",
        'node_ethtool_pfc_pri5_tx_transitions{device="p1"} 4',
        key("nic_pfc_transitions_total", port="p1", priority="5", direction="tx"),
        4.0,
    ),
    (
        "node_exporter",
        'node_ethtool_received_fec_uncorrectable_blocks{device="p1"} 2',
        key("nic_fec_codewords_total", port="p1", outcome="uncorrectable"),
        2.0,
    ),
    # NICs of NVIDIA
    (
        "node_exporter",
        'node_ethtool_outbound_pci_stalled_wr_events{device="p1"} 9',
        key("nic_pcie_stalled_seconds_total", port="p1", op="wr"),
        9.0,
    ),
    (
        "node_exporter",
        'node_ethtool_received_err_lane_2_phy{device="p1"} 5',
        key("nic_lane_errors_total", port="p1", lane="2"),
        5.0,
    ),
    (
        "node_exporter",
        'node_ethtool_received_global_pause_duration{device="p1"} 3000000',
        key("nic_pause_seconds_total", port="p1", direction="rx"),
        3.0,
    ),
    (
        "node_exporter",
        'node_infiniband_req_cqes_errors_total{device="mlx5_0",port="1"} 3',
        key("rdma_errors_total", port="mlx5_0", kind="requester_cqe"),
        3.0,
    ),
    # hosts: all processors together; a server that does not answer; memory that RDMA holds
    (
        "node_exporter",
        'node_softnet_dropped_total{cpu="0"} 2\nnode_softnet_dropped_total{cpu="1"} 3',
        key("node_softnet_packets_total", kind="dropped"),
        5.0,
    ),
    (
        "node_exporter",
        'node_filesystem_device_error{device="s:/d",device_error="EIO",fstype="nfs4",mountpoint="/data"} 1',
        key("storage_unreadable", system="nfs4", fs="/data", side="client"),
        1.0,
    ),
    (
        "node_exporter",
        "node_memory_Mlocked_bytes 4096",
        key("node_memory_usage_bytes", kind="locked"),
        4096.0,
    ),
    (
        "node_exporter",
        'node_network_info{address="1:2",broadcast="f",device="veth0",duplex="",operstate="up"} 1',
        key("nic_info", port="veth0", address="1:2"),
        1.0,
    ),
    # rdma_exporter: seconds, microseconds, queue pairs
    (
        "rdma_exporter",
        f'rdma_pcie_outbound_stalled_seconds_total{{{RDMA},op="rd"}} 13',
        key("nic_pcie_stalled_seconds_total", port="mlx5_0", op="rd"),
        13.0,
    ),
    (
        "rdma_exporter",
        f'rdma_netdev_global_pause_duration_total{{{RDMA},direction="tx"}} 4000000',
        key("nic_pause_seconds_total", port="mlx5_0", direction="tx"),
        4.0,
    ),
    (
        "rdma_exporter",
        f'rdma_netdev_vport_rdma_bytes_total{{{RDMA},direction="rx",traffic="unicast"}} 8',
        key("nic_rdma_bytes_total", port="mlx5_0", direction="rx", cast="unicast"),
        8.0,
    ),
    (
        "rdma_exporter",
        'rdma_qp_out_of_buffer_total{device="mlx5_0",port="2",qp_type="RC"} 5',
        key("rdma_queue_pair_events_total", port="mlx5_0/2", qp_type="RC", kind="out_of_buffer"),
        5.0,
    ),
    (
        "rdma_exporter",
        'rdma_qp_scrape_status{device="mlx5_0",port="1",result="overflow"} 1',
        key("exporter_errors", part="mlx5_0/1", kind="overflow"),
        1.0,
    ),
    # UFM: words of four bytes, percent
    (
        "ufm",
        'PortXmitWaitExtended{node_guid="0x5",port_num="7"} 6',
        key("ib_port_transmit_wait_ticks_total", "0x5", port="7"),
        6.0,
    ),
    (
        "ufm",
        'Normalized_CBW{Node_GUID="0x5",Port_Number="7"} 25',
        key("ib_port_congested_bandwidth_ratio", "0x5", port="7"),
        0.25,
    ),
    # per-link NVLink, by name and by label, old and new; recoveries
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_BANDWIDTH_L12{UUID="G"} 3',
        key("gpu_nvlink_combined_bytes_per_second", gpu="G", link="12"),
        3e6,
    ),
    (
        "dcgm",
        'DCGM_FI_PROF_NVLINK_L4_TX_BYTES{UUID="G"} 3',
        key("gpu_nvlink_bytes_per_second", gpu="G", link="4", direction="tx"),
        3.0,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_TX_THROUGHPUT_L4{UUID="G"} 3',
        key("gpu_nvlink_bytes_per_second", gpu="G", link="4", direction="tx"),
        3e6,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L0_TOTAL{UUID="G"} 3',
        key("gpu_nvlink_errors_total", gpu="G", link="0", kind="replay"),
        3.0,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS{gpu="0",gpu_uuid="G",nvlink="3"} 2',
        key("gpu_nvlink_recoveries_total", gpu="G", link="3", outcome="successful"),
        2.0,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15{UUID="G"} 1',
        key("gpu_nvlink_fec_codewords_total", gpu="G", bin="15"),
        1.0,
    ),
    # profiling, of an instance too
    (
        "dcgm",
        'DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE{UUID="G",GPU_I_ID="7",GPU_I_PROFILE="1g.10gb"} 0.5',
        key("gpu_pipe_active_ratio", gpu="G", pipe="hmma", instance_id="7", instance_profile="1g.10gb"),
        0.5,
    ),
    (
        "dcgm",
        'DCGM_FI_PROF_NVDEC_UTIL_3_RATIO{UUID="G"} 0.5',
        key("gpu_media_active_ratio", gpu="G", engine="nvdec", index="3"),
        0.5,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_ECC_DBE_AGG_SRM{UUID="G"} 1',
        key(
            "gpu_ecc_location_errors_total", gpu="G", severity="uncorrectable", persistence="aggregate", location="sram"
        ),
        1.0,
    ),
    ("dcgm", 'DCGM_FI_DEV_BAR1_USED{UUID="G"} 2', key("gpu_bar1_bytes", gpu="G", kind="used"), 2 * 2**20),
    (
        "dcgm",
        'DCGM_FI_DEV_SLOWDOWN_TEMP{UUID="G"} 87',
        key("gpu_temperature_limit_celsius", gpu="G", kind="slowdown"),
        87.0,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch="s0"} 40',
        key("nvswitch_temperature_celsius", nvswitch="s0"),
        40.0,
    ),
    ("dcgm", 'DCGM_FI_DEV_CPU_TEMP_CURRENT{cpu="0"} 40', key("node_temperature_celsius", sensor="cpu0"), 40.0),
    ("dcgm", 'DCGM_FI_DEV_CPU_POWER_LIMIT_WATTS{cpu="1"} 500', key("node_sensor_limit_watts", sensor="cpu1"), 500.0),
    (
        "dcgm",
        'DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink="3",nvswitch="s0"} -1',
        key("nvswitch_link_state", nvswitch="s0", link="3"),
        -1.0,
    ),
    (
        "dcgm",
        'DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS{nvlink="3",nvswitch="s0"} 1',
        key("nvswitch_link_errors_total", nvswitch="s0", link="3", kind="fatal"),
        1.0,
    ),
    ("dcgm", 'DCGM_FI_DEV_INFOROM_CONFIG_VALID{UUID="G"} 0', key("gpu_inforom_valid", gpu="G"), 0.0),
    (
        "dcgm",
        'DCGM_FI_DEV_NVLINK_GET_STATE{UUID="G",nvlink="17"} 2',
        key("gpu_nvlink_state", gpu="G", link="17"),
        2.0,
    ),
    # AMD: kilobytes, MHz by kind of clock, percent
    (
        "amd",
        'gpu_xgmi_link_rx{gpu_uuid="A",link_index="2"} 3',
        key("gpu_xgmi_bytes_total", gpu="A", link="2", direction="rx"),
        3072.0,
    ),
    (
        "amd",
        'gpu_clock{gpu_uuid="A",clock_type="GPU_CLOCK_TYPE_SYSTEM",clock_index="0"} 1533',
        key("gpu_sm_clock_hertz", gpu="A"),
        1.533e9,
    ),
    (
        "amd",
        'gpu_clock{gpu_uuid="A",clock_type="memory",clock_index="8"} 1292',
        key("gpu_memory_clock_hertz", gpu="A"),
        1.292e9,
    ),
    (
        "amd",
        'gpu_violation_ppt_residency_percentage{gpu_uuid="A"} 25',
        key("gpu_violation_ratio", gpu="A", reason="power"),
        0.25,
    ),
    (
        "amd",
        'gpu_ecc_correct_umc{gpu_uuid="A"} 4',
        key("gpu_ecc_location_errors_total", gpu="A", severity="correctable", persistence="volatile", location="umc"),
        4.0,
    ),
    # AMD's NICs: pause frames of all priorities together
    (
        "amd",
        'nic_port_stats_frames_rx_pripause{port_name="p1",port_id="0"} 6',
        key("nic_pfc_pause_frames_total", port="p1", direction="rx"),
        6.0,
    ),
    (
        "amd",
        'rdma_tx_cnp_pkts{rdma_dev_name="rdma0",pcie_bus_id="x"} 6',
        key("rdma_cnp_sent_total", port="rdma0"),
        6.0,
    ),
    # Redfish
    (
        "idrac_exporter",
        'idrac_power_control_consumed_watts{id="0",name="System Power Control"} 166',
        key("node_power_watts"),
        166.0,
    ),
    (
        "idrac_exporter",
        'idrac_power_supply_output_watts{id="1"} 74.5',
        key("node_psu_watts", sensor="1", direction="tx"),
        74.5,
    ),
    (
        "idrac_exporter",
        'idrac_sensors_temperature{id="0",name="Inlet Temp",units="celsius"} 19',
        key("node_temperature_celsius", sensor="Inlet Temp"),
        19.0,
    ),
    (
        "idrac_exporter",
        'idrac_sensors_fan_health{id="0",name="FAN1A",status="OK"} 0',
        key("node_sensor_severity", sensor="FAN1A", kind="fan"),
        0.0,
    ),
    # health in the second bit: OK 1, warning 2, critical 3; a detector that says nothing is no leak
    (
        "redfish_exporter",
        'redfish_chassis_temperature_celsius{chassis_id="C0",resource="temperature",'
        'sensor="CPU1 Temp",sensor_id="0"} 41',
        key("node_temperature_celsius", sensor="C0/CPU1 Temp"),
        41.0,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_fan_rpm{chassis_id="C0",fan="FAN1",fan_id="0",fan_unit="percent"} 45',
        key("node_fan_ratio", sensor="C0/FAN1"),
        0.45,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_fan_health{chassis_id="C0",fan="FAN1",fan_id="0",fan_unit="rpm"} 1',
        key("node_sensor_alarm", sensor="C0/FAN1", kind="fan"),
        0.0,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_fan_health{chassis_id="C0",fan="FAN1",fan_id="0",fan_unit="rpm"} 3',
        key("node_sensor_alarm", sensor="C0/FAN1", kind="fan"),
        1.0,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_leak_detector_state{chassis_id="C0",leak_detector_id="L1"} 2',
        key("node_sensor_alarm", sensor="C0/L1", kind="leak"),
        1.0,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_leak_detector_state{chassis_id="C0",leak_detector_id="L1"} 5',
        key("node_sensor_alarm", sensor="C0/L1", kind="leak"),
        0.0,
    ),
    (
        "redfish_exporter",
        'redfish_chassis_power_powersupply_power_input_watts{chassis_id="C0",'
        'power_supply="HpeServerPowerSupply",power_supply_id="1"} 900',
        key("node_psu_watts", sensor="C0/1", direction="rx"),
        900.0,
    ),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("system", "line", "series", "value"), LINES)
def test_what_a_series_becomes(system: str, line: str, series: str, value: float, compiled: bool) -> None:
    assert canonical(system, line + "\n", compiled) == {series: pytest.approx(value)}


def test_a_port_s_states_are_read_from_its_description() -> None:
    """As rdma_exporter describes ports: no series of its own says whether one is up."""
    line = (
        'rdma_port_info{device="mlx5_0",link_layer="Ethernet",link_width="4X",port="1",state="%s",phys_state="%s"} 1\n'
    )
    found = [canonical("rdma_exporter", line % states) for states in (("ACTIVE", "LinkUp"), ("DOWN", "Phy Test"))]
    state, physical = key("ib_port_state", port="mlx5_0"), key("ib_port_physical_state", port="mlx5_0")
    assert found == [{state: 4.0, physical: 5.0}, {state: 1.0, physical: 7.0}]
    assert canonical("rdma_exporter", line % ("<unknown>", "<unknown>")) == {}


def test_the_bytes_of_an_infiniband_port_have_one_name_and_unit_whoever_counts_them() -> None:
    """1,000 words of four bytes: two exporters multiply, two do not."""
    lines = {
        "infiniband_exporter": 'infiniband_switch_port_receive_data_bytes_total{guid="node1",port="mlx5_0"} 4000',
        "node_exporter": 'node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 4000',
        "rdma_exporter": 'rdma_port_rcv_data_total{device="mlx5_0",port="1"} 1000',
        "ufm": 'PortRcvDataExtended{node_guid="node1",port_num="mlx5_0"} 1000',
    }
    found = [canonical(system, line + "\n") for system, line in lines.items()]
    assert found == [{key("ib_port_receive_bytes_total", port="mlx5_0"): 4000.0}] * 4
