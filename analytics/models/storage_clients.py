"""Names of what a client's wait for storage is compared with, as evidence of a finding and for who reads it."""

CLIENTS_MEASURED = "storage_clients_measured"
"""How many clients of the file system have times for this operation now, those that wait among them."""

SERVER_SECONDS = "storage_server_seconds"
"""Seconds an operation of the file system's slowest target, as its server states it; none where no server does."""

OTHERS_SHARE = "storage_others_share"
"""The part of what a job's most awaited target moves that is not of its hosts; none where it is not asked for more."""
