"""Types of the generated service module, as grpc.aio uses it. Written by hand: the gRPC generator writes none."""

from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from telemetry.gnmi import gnmi_pb2

class gNMIStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    Capabilities: grpc.aio.UnaryUnaryMultiCallable[gnmi_pb2.CapabilityRequest, gnmi_pb2.CapabilityResponse]
    Get: grpc.aio.UnaryUnaryMultiCallable[gnmi_pb2.GetRequest, gnmi_pb2.GetResponse]
    Set: grpc.aio.UnaryUnaryMultiCallable[gnmi_pb2.SetRequest, gnmi_pb2.SetResponse]
    Subscribe: grpc.aio.StreamStreamMultiCallable[gnmi_pb2.SubscribeRequest, gnmi_pb2.SubscribeResponse]

class gNMIServicer:
    async def Capabilities(
        self,
        request: gnmi_pb2.CapabilityRequest,
        context: grpc.aio.ServicerContext[gnmi_pb2.CapabilityRequest, gnmi_pb2.CapabilityResponse],
    ) -> gnmi_pb2.CapabilityResponse: ...
    async def Get(
        self,
        request: gnmi_pb2.GetRequest,
        context: grpc.aio.ServicerContext[gnmi_pb2.GetRequest, gnmi_pb2.GetResponse],
    ) -> gnmi_pb2.GetResponse: ...
    async def Set(
        self,
        request: gnmi_pb2.SetRequest,
        context: grpc.aio.ServicerContext[gnmi_pb2.SetRequest, gnmi_pb2.SetResponse],
    ) -> gnmi_pb2.SetResponse: ...
    def Subscribe(
        self,
        request_iterator: AsyncIterator[gnmi_pb2.SubscribeRequest],
        context: grpc.aio.ServicerContext[gnmi_pb2.SubscribeRequest, gnmi_pb2.SubscribeResponse],
    ) -> AsyncIterator[gnmi_pb2.SubscribeResponse]: ...

def add_gNMIServicer_to_server(servicer: gNMIServicer, server: Any) -> None: ...
