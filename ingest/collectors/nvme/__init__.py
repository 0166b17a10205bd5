"""Health and wear of a host's NVMe drives from nvme-cli."""
