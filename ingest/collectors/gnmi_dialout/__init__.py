"""gNMI updates that switches send by themselves: SONiC's dial-out."""
