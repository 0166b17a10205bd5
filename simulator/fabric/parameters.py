"""Constants of the fabric model, with their origin."""

from typing import Final

# Packets. RoCE with a 4096-byte path MTU, and 82 bytes of Ethernet, IP, UDP, BTH, ICRC, preamble and gap.
PACKET_BYTES: Final = 4178.0
GOODPUT: Final = 0.94  # part of the line rate that one RDMA sender reaches (headers, acknowledgements)
OTHER_PACKET_BYTES: Final = 800.0

# RED/ECN: 100 kB and 400 kB for each 25 Gb/s, Pmax 0.2 (Li et al., HPCC, SIGCOMM 2019, section 5.1, for DCQCN).
ECN_KMIN_BYTES_PER_BPS: Final = 100e3 / 25e9
ECN_KMAX_BYTES_PER_BPS: Final = 400e3 / 25e9
ECN_PMAX: Final = 0.2

# Shared buffer: 64 MB (Spectrum-3 class), dynamic threshold alpha 1/8 (Choudhury and Hahne 1998; SONiC dynamic_th -3).
ASIC: Final = "Spectrum-3"  # what the inventory says of every switch with PFC
BUFFER_BYTES: Final = 64e6
XOFF_ALPHA: Final = 1 / 8
XON_HYSTERESIS_BYTES: Final = 256e3
NIC_XOFF_BYTES: Final = 1e6
# Receive buffer of one InfiniBand port for the virtual lane of data. Assumption: four times what 400 Gb/s sends in the
# 2 µs there and back over 100 m of cable and one switch; the specification leaves the size to the vendor.
CREDIT_BYTES: Final = 400e3
# What still arrives after XOFF was sent: 100 m of cable there and back, one packet each way, the sender's reaction.
HEADROOM_S: Final = 2.5e-6

# DCQCN (Zhu et al., SIGCOMM 2015): one CNP per flow in 50 µs, alpha and rate timers 55 µs, R_AI 40 Mb/s,
# byte counter 10 MB.
CNP_INTERVAL_S: Final = 50e-6
TIMER_S: Final = 55e-6
R_AI_BYTES_PER_S: Final = 40e6 / 8
BYTE_COUNTER: Final = 10e6
# Two CNP intervals pass until senders that start at line rate have halved: queue, mark, notify, cut.
REACTION_S: Final = 100e-6
# An idle sender's limiter is released after this long: the next message starts at line rate.
IDLE_RESET_S: Final = 20e-3
MIN_RATE_BYTES_PER_S: Final = 100e6 / 8

# Packets come in bursts of about this size (NIC scheduling quantum of one message): gives queues below full load.
BURST_BYTES: Final = 64e3
# Packets sent again for one lost packet (go-back-N): rate x round trip of 10 µs at 400 Gb/s.
GO_BACK_PACKETS: Final = 120.0
# A pause lasts 65535 quanta of 512 bit times unless refreshed (IEEE 802.1Qbb); it is refreshed at half of that.
PAUSE_QUANTA_BITS: Final = 65535 * 512 / 2

PCIE_BYTES_PER_S: Final = 55e9  # PCIe 5.0 x16 after protocol overhead
BACKGROUND_BYTES_PER_S: Final = 6e6  # logs, metrics and SSH of one host, priority 0
