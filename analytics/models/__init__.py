"""What is normal: for one series, among peers, for all values of a device, over months."""
