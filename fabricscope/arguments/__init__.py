"""What each command accepts: names, types, defaults, help. Loads nothing that costs time: ``commands`` has the work."""
