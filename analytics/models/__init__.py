"""What is normal: of one series, of peers, of a device's series together, of months."""
