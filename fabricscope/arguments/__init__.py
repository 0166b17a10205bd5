"""What each command accepts: names, types, defaults, help. Loads nothing that takes time: ``commands`` has the work."""
