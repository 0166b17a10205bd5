"""XID records of the NVIDIA driver in kernel logs."""
