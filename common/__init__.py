"""What every part may use: errors, units, retries, threads, SQLite, compiled functions. Imports nothing of ours."""
