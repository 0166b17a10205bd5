"""Real scrape bodies: of a node_exporter, of a Lustre server, and of a GPU node.

The recorded GPU page has four metrics; they are repeated under the names of the exporter's default list.
"""

import re

from tests.samples import SAMPLES

_GPU_NAMES = """DEV_SM_CLOCK DEV_MEM_CLOCK DEV_MEMORY_TEMP DEV_GPU_TEMP DEV_POWER_USAGE DEV_TOTAL_ENERGY_CONSUMPTION
    DEV_PCIE_REPLAY_COUNTER DEV_GPU_UTIL DEV_MEM_COPY_UTIL DEV_ENC_UTIL DEV_DEC_UTIL DEV_XID_ERRORS DEV_FB_FREE
    DEV_FB_USED DEV_FB_RESERVED DEV_UNCORRECTABLE_REMAPPED_ROWS DEV_CORRECTABLE_REMAPPED_ROWS DEV_ROW_REMAP_FAILURE
    DEV_NVLINK_BANDWIDTH_TOTAL DEV_VGPU_LICENSE_STATUS PROF_GR_ENGINE_ACTIVE PROF_PIPE_TENSOR_ACTIVE PROF_DRAM_ACTIVE
    PROF_PCIE_TX_BYTES PROF_PCIE_RX_BYTES PROF_SM_ACTIVE PROF_SM_OCCUPANCY PROF_NVLINK_TX_BYTES PROF_NVLINK_RX_BYTES
    DEV_ECC_SBE_VOL_TOTAL"""


def gpu_page() -> bytes:
    """240 samples of eight GPUs."""
    scrape = (SAMPLES / "dcgm" / "exposition" / "h100_8gpu_k8s_driver580.prom").read_text()
    gpus = re.findall(r"^DCGM_FI_DEV_GPU_TEMP(\{.*\}) ", scrape, re.MULTILINE)
    lines: list[str] = []
    for position, name in enumerate(f"DCGM_FI_{name}" for name in _GPU_NAMES.split()):
        lines += [f"# HELP {name} As the exporter describes it (in its own unit).", f"# TYPE {name} gauge"]
        for number, labels in enumerate(gpus):
            value = (
                0.001 * (17 * position + number)
                if "PROF" in name and "BYTES" not in name
                else 10**position % 10**9 + number
            )
            lines.append(f"{name}{labels} {value:.6f}" if isinstance(value, float) else f"{name}{labels} {value}")
    return ("\n".join(lines) + "\n").encode()


def pages() -> dict[str, tuple[str, bytes]]:
    """Source and page, by name."""
    return {
        "gpu": ("dcgm", gpu_page()),
        "node": ("node_exporter", (SAMPLES / "node_exporter" / "e2e_selected_families.prom").read_bytes()),
        "lustre": ("lustre", (SAMPLES / "storage" / "lustrefs_exporter_lnet.prom").read_bytes()),
    }


def changed(page: bytes) -> bytes:
    """The same page a moment later: the last digit of every value from 1 to 8 is one larger."""
    return re.sub(rb"^([^#].*)([1-8])$", lambda m: b"%b%d" % (m[1], int(m[2]) + 1), page, flags=re.MULTILINE)
