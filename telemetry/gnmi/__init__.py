"""The openconfig gNMI protocol: stubs generated from ``proto/`` by ``generate.sh``, for collector and simulator.

Messages are ``telemetry.gnmi.gnmi_pb2``, the service ``telemetry.gnmi.gnmi_pb2_grpc``. The protobuf runtime knows each
message name once per process: do not import another package's gNMI stubs (pygnmi's) beside these.
"""
