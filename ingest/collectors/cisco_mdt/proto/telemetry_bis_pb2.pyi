from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Telemetry(_message.Message):
    __slots__ = ("node_id_str", "subscription_id_str", "encoding_path", "collection_id", "collection_start_time", "msg_timestamp", "data_gpbkv", "data_gpb", "collection_end_time")
    NODE_ID_STR_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_ID_STR_FIELD_NUMBER: _ClassVar[int]
    ENCODING_PATH_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_START_TIME_FIELD_NUMBER: _ClassVar[int]
    MSG_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DATA_GPBKV_FIELD_NUMBER: _ClassVar[int]
    DATA_GPB_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_END_TIME_FIELD_NUMBER: _ClassVar[int]
    node_id_str: str
    subscription_id_str: str
    encoding_path: str
    collection_id: int
    collection_start_time: int
    msg_timestamp: int
    data_gpbkv: _containers.RepeatedCompositeFieldContainer[TelemetryField]
    data_gpb: TelemetryGPBTable
    collection_end_time: int
    def __init__(self, node_id_str: _Optional[str] = ..., subscription_id_str: _Optional[str] = ..., encoding_path: _Optional[str] = ..., collection_id: _Optional[int] = ..., collection_start_time: _Optional[int] = ..., msg_timestamp: _Optional[int] = ..., data_gpbkv: _Optional[_Iterable[_Union[TelemetryField, _Mapping]]] = ..., data_gpb: _Optional[_Union[TelemetryGPBTable, _Mapping]] = ..., collection_end_time: _Optional[int] = ...) -> None: ...

class TelemetryField(_message.Message):
    __slots__ = ("timestamp", "name", "bytes_value", "string_value", "bool_value", "uint32_value", "uint64_value", "sint32_value", "sint64_value", "double_value", "float_value", "fields", "delete")
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    UINT32_VALUE_FIELD_NUMBER: _ClassVar[int]
    UINT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    SINT32_VALUE_FIELD_NUMBER: _ClassVar[int]
    SINT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VALUE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    name: str
    bytes_value: bytes
    string_value: str
    bool_value: bool
    uint32_value: int
    uint64_value: int
    sint32_value: int
    sint64_value: int
    double_value: float
    float_value: float
    fields: _containers.RepeatedCompositeFieldContainer[TelemetryField]
    delete: bool
    def __init__(self, timestamp: _Optional[int] = ..., name: _Optional[str] = ..., bytes_value: _Optional[bytes] = ..., string_value: _Optional[str] = ..., bool_value: _Optional[bool] = ..., uint32_value: _Optional[int] = ..., uint64_value: _Optional[int] = ..., sint32_value: _Optional[int] = ..., sint64_value: _Optional[int] = ..., double_value: _Optional[float] = ..., float_value: _Optional[float] = ..., fields: _Optional[_Iterable[_Union[TelemetryField, _Mapping]]] = ..., delete: _Optional[bool] = ...) -> None: ...

class TelemetryGPBTable(_message.Message):
    __slots__ = ("row",)
    ROW_FIELD_NUMBER: _ClassVar[int]
    row: _containers.RepeatedCompositeFieldContainer[TelemetryRowGPB]
    def __init__(self, row: _Optional[_Iterable[_Union[TelemetryRowGPB, _Mapping]]] = ...) -> None: ...

class TelemetryRowGPB(_message.Message):
    __slots__ = ("timestamp", "keys", "content")
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    keys: bytes
    content: bytes
    def __init__(self, timestamp: _Optional[int] = ..., keys: _Optional[bytes] = ..., content: _Optional[bytes] = ...) -> None: ...
