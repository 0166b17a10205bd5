"""Switches and power distribution units over SNMP, the fallback for what speaks nothing better."""
