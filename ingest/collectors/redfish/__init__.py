"""Power, heat, fans and health of hosts from their management controllers, over Redfish."""
