from yt_wire.proto import core_pb2 as _core_pb2
from yt_wire.proto import ypath_pb2 as _ypath_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ETransactionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TT_MASTER: _ClassVar[ETransactionType]
    TT_TABLET: _ClassVar[ETransactionType]

class EAtomicity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    A_FULL: _ClassVar[EAtomicity]
    A_NONE: _ClassVar[EAtomicity]

class EDurability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    D_SYNC: _ClassVar[EDurability]
    D_ASYNC: _ClassVar[EDurability]

class ERowsetKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RK_UNVERSIONED: _ClassVar[ERowsetKind]
    RK_VERSIONED: _ClassVar[ERowsetKind]

class ERowsetFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RF_YT_WIRE: _ClassVar[ERowsetFormat]
    RF_ARROW: _ClassVar[ERowsetFormat]
    RF_FORMAT: _ClassVar[ERowsetFormat]

class ERowModificationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RMT_WRITE: _ClassVar[ERowModificationType]
    RMT_DELETE: _ClassVar[ERowModificationType]
    RMT_MODIFY: _ClassVar[ERowModificationType]

class ESecurityAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SA_UNDEFINED: _ClassVar[ESecurityAction]
    SA_ALLOW: _ClassVar[ESecurityAction]
    SA_DENY: _ClassVar[ESecurityAction]

class ETableReplicaMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRM_SYNC: _ClassVar[ETableReplicaMode]
    TRM_ASYNC: _ClassVar[ETableReplicaMode]

class EPartitionTablesMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TPM_SORTED: _ClassVar[EPartitionTablesMode]
    TPM_ORDERED: _ClassVar[EPartitionTablesMode]
    TPM_UNORDERED: _ClassVar[EPartitionTablesMode]
TT_MASTER: ETransactionType
TT_TABLET: ETransactionType
A_FULL: EAtomicity
A_NONE: EAtomicity
D_SYNC: EDurability
D_ASYNC: EDurability
RK_UNVERSIONED: ERowsetKind
RK_VERSIONED: ERowsetKind
RF_YT_WIRE: ERowsetFormat
RF_ARROW: ERowsetFormat
RF_FORMAT: ERowsetFormat
RMT_WRITE: ERowModificationType
RMT_DELETE: ERowModificationType
RMT_MODIFY: ERowModificationType
SA_UNDEFINED: ESecurityAction
SA_ALLOW: ESecurityAction
SA_DENY: ESecurityAction
TRM_SYNC: ETableReplicaMode
TRM_ASYNC: ETableReplicaMode
TPM_SORTED: EPartitionTablesMode
TPM_ORDERED: EPartitionTablesMode
TPM_UNORDERED: EPartitionTablesMode

class TTransactionalOptions(_message.Message):
    __slots__ = ("transaction_id", "ping", "ping_ancestors", "suppress_transaction_coordinator_sync", "suppress_upstream_sync")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PING_ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESS_TRANSACTION_COORDINATOR_SYNC_FIELD_NUMBER: _ClassVar[int]
    SUPPRESS_UPSTREAM_SYNC_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    ping: bool
    ping_ancestors: bool
    suppress_transaction_coordinator_sync: bool
    suppress_upstream_sync: bool
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., ping: _Optional[bool] = ..., ping_ancestors: _Optional[bool] = ..., suppress_transaction_coordinator_sync: _Optional[bool] = ..., suppress_upstream_sync: _Optional[bool] = ...) -> None: ...

class TPrerequisiteOptions(_message.Message):
    __slots__ = ("transactions", "revisions")
    class TTransactionPrerequisite(_message.Message):
        __slots__ = ("transaction_id",)
        TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
        transaction_id: _core_pb2.TGuid
        def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...
    class TRevisionPrerequisite(_message.Message):
        __slots__ = ("path", "revision")
        PATH_FIELD_NUMBER: _ClassVar[int]
        REVISION_FIELD_NUMBER: _ClassVar[int]
        path: str
        revision: int
        def __init__(self, path: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    transactions: _containers.RepeatedCompositeFieldContainer[TPrerequisiteOptions.TTransactionPrerequisite]
    revisions: _containers.RepeatedCompositeFieldContainer[TPrerequisiteOptions.TRevisionPrerequisite]
    def __init__(self, transactions: _Optional[_Iterable[_Union[TPrerequisiteOptions.TTransactionPrerequisite, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[TPrerequisiteOptions.TRevisionPrerequisite, _Mapping]]] = ...) -> None: ...

class TMutatingOptions(_message.Message):
    __slots__ = ("mutation_id", "retry")
    MUTATION_ID_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    mutation_id: _core_pb2.TGuid
    retry: bool
    def __init__(self, mutation_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., retry: _Optional[bool] = ...) -> None: ...

class TSuppressableAccessTrackingOptions(_message.Message):
    __slots__ = ("suppress_access_tracking", "suppress_modification_tracking", "suppress_expiration_timeout_renewal")
    SUPPRESS_ACCESS_TRACKING_FIELD_NUMBER: _ClassVar[int]
    SUPPRESS_MODIFICATION_TRACKING_FIELD_NUMBER: _ClassVar[int]
    SUPPRESS_EXPIRATION_TIMEOUT_RENEWAL_FIELD_NUMBER: _ClassVar[int]
    suppress_access_tracking: bool
    suppress_modification_tracking: bool
    suppress_expiration_timeout_renewal: bool
    def __init__(self, suppress_access_tracking: _Optional[bool] = ..., suppress_modification_tracking: _Optional[bool] = ..., suppress_expiration_timeout_renewal: _Optional[bool] = ...) -> None: ...

class TTabletRangeOptions(_message.Message):
    __slots__ = ("first_tablet_index", "last_tablet_index")
    FIRST_TABLET_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_TABLET_INDEX_FIELD_NUMBER: _ClassVar[int]
    first_tablet_index: int
    last_tablet_index: int
    def __init__(self, first_tablet_index: _Optional[int] = ..., last_tablet_index: _Optional[int] = ...) -> None: ...

class TLegacyAttributeKeys(_message.Message):
    __slots__ = ("all", "keys")
    ALL_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    all: bool
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, all: _Optional[bool] = ..., keys: _Optional[_Iterable[str]] = ...) -> None: ...

class TRowsetDescriptor(_message.Message):
    __slots__ = ("wire_format_version", "rowset_kind", "name_table_entries", "rowset_format", "schema")
    class TNameTableEntry(_message.Message):
        __slots__ = ("name", "type", "logical_type")
        NAME_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        LOGICAL_TYPE_FIELD_NUMBER: _ClassVar[int]
        name: bytes
        type: int
        logical_type: int
        def __init__(self, name: _Optional[bytes] = ..., type: _Optional[int] = ..., logical_type: _Optional[int] = ...) -> None: ...
    WIRE_FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    ROWSET_KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_TABLE_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    ROWSET_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    wire_format_version: int
    rowset_kind: ERowsetKind
    name_table_entries: _containers.RepeatedCompositeFieldContainer[TRowsetDescriptor.TNameTableEntry]
    rowset_format: ERowsetFormat
    schema: TTableSchema
    def __init__(self, wire_format_version: _Optional[int] = ..., rowset_kind: _Optional[_Union[ERowsetKind, str]] = ..., name_table_entries: _Optional[_Iterable[_Union[TRowsetDescriptor.TNameTableEntry, _Mapping]]] = ..., rowset_format: _Optional[_Union[ERowsetFormat, str]] = ..., schema: _Optional[_Union[TTableSchema, _Mapping]] = ...) -> None: ...

class TDataStatistics(_message.Message):
    __slots__ = ("uncompressed_data_size", "compressed_data_size", "row_count", "chunk_count", "regular_disk_space", "erasure_disk_space", "data_weight", "unmerged_row_count", "unmerged_data_weight", "encoded_columnar_batch_count", "encoded_row_batch_count")
    UNCOMPRESSED_DATA_SIZE_FIELD_NUMBER: _ClassVar[int]
    COMPRESSED_DATA_SIZE_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    REGULAR_DISK_SPACE_FIELD_NUMBER: _ClassVar[int]
    ERASURE_DISK_SPACE_FIELD_NUMBER: _ClassVar[int]
    DATA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    UNMERGED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNMERGED_DATA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    ENCODED_COLUMNAR_BATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENCODED_ROW_BATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    uncompressed_data_size: int
    compressed_data_size: int
    row_count: int
    chunk_count: int
    regular_disk_space: int
    erasure_disk_space: int
    data_weight: int
    unmerged_row_count: int
    unmerged_data_weight: int
    encoded_columnar_batch_count: int
    encoded_row_batch_count: int
    def __init__(self, uncompressed_data_size: _Optional[int] = ..., compressed_data_size: _Optional[int] = ..., row_count: _Optional[int] = ..., chunk_count: _Optional[int] = ..., regular_disk_space: _Optional[int] = ..., erasure_disk_space: _Optional[int] = ..., data_weight: _Optional[int] = ..., unmerged_row_count: _Optional[int] = ..., unmerged_data_weight: _Optional[int] = ..., encoded_columnar_batch_count: _Optional[int] = ..., encoded_row_batch_count: _Optional[int] = ...) -> None: ...

class TRowsetStatistics(_message.Message):
    __slots__ = ("total_row_count", "data_statistics")
    TOTAL_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    DATA_STATISTICS_FIELD_NUMBER: _ClassVar[int]
    total_row_count: int
    data_statistics: TDataStatistics
    def __init__(self, total_row_count: _Optional[int] = ..., data_statistics: _Optional[_Union[TDataStatistics, _Mapping]] = ...) -> None: ...

class TColumnSchema(_message.Message):
    __slots__ = ("name", "type", "logical_type", "lock", "expression", "aggregate", "sort_order", "group", "required", "max_inline_hunk_size", "type_v3", "stable_name")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LOGICAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    AGGREGATE_FIELD_NUMBER: _ClassVar[int]
    SORT_ORDER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    MAX_INLINE_HUNK_SIZE_FIELD_NUMBER: _ClassVar[int]
    TYPE_V3_FIELD_NUMBER: _ClassVar[int]
    STABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: int
    logical_type: int
    lock: str
    expression: str
    aggregate: str
    sort_order: int
    group: str
    required: bool
    max_inline_hunk_size: int
    type_v3: bytes
    stable_name: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[int] = ..., logical_type: _Optional[int] = ..., lock: _Optional[str] = ..., expression: _Optional[str] = ..., aggregate: _Optional[str] = ..., sort_order: _Optional[int] = ..., group: _Optional[str] = ..., required: _Optional[bool] = ..., max_inline_hunk_size: _Optional[int] = ..., type_v3: _Optional[bytes] = ..., stable_name: _Optional[str] = ...) -> None: ...

class TTableSchema(_message.Message):
    __slots__ = ("columns", "strict", "unique_keys")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_KEYS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[TColumnSchema]
    strict: bool
    unique_keys: bool
    def __init__(self, columns: _Optional[_Iterable[_Union[TColumnSchema, _Mapping]]] = ..., strict: _Optional[bool] = ..., unique_keys: _Optional[bool] = ...) -> None: ...

class TReqStartTransaction(_message.Message):
    __slots__ = ("type", "timeout", "id", "parent_id", "auto_abort", "sticky", "ping", "ping_ancestors", "atomicity", "durability", "attributes", "deadline", "prerequisite_transaction_ids", "start_timestamp", "mutating_options")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    AUTO_ABORT_FIELD_NUMBER: _ClassVar[int]
    STICKY_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PING_ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    ATOMICITY_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_TRANSACTION_IDS_FIELD_NUMBER: _ClassVar[int]
    START_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    type: ETransactionType
    timeout: int
    id: _core_pb2.TGuid
    parent_id: _core_pb2.TGuid
    auto_abort: bool
    sticky: bool
    ping: bool
    ping_ancestors: bool
    atomicity: EAtomicity
    durability: EDurability
    attributes: _core_pb2.TAttributeDictionary
    deadline: int
    prerequisite_transaction_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    start_timestamp: int
    mutating_options: TMutatingOptions
    def __init__(self, type: _Optional[_Union[ETransactionType, str]] = ..., timeout: _Optional[int] = ..., id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., parent_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., auto_abort: _Optional[bool] = ..., sticky: _Optional[bool] = ..., ping: _Optional[bool] = ..., ping_ancestors: _Optional[bool] = ..., atomicity: _Optional[_Union[EAtomicity, str]] = ..., durability: _Optional[_Union[EDurability, str]] = ..., attributes: _Optional[_Union[_core_pb2.TAttributeDictionary, _Mapping]] = ..., deadline: _Optional[int] = ..., prerequisite_transaction_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ..., start_timestamp: _Optional[int] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspStartTransaction(_message.Message):
    __slots__ = ("id", "start_timestamp", "sequence_number_source_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    START_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    id: _core_pb2.TGuid
    start_timestamp: int
    sequence_number_source_id: int
    def __init__(self, id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., start_timestamp: _Optional[int] = ..., sequence_number_source_id: _Optional[int] = ...) -> None: ...

class TReqPingTransaction(_message.Message):
    __slots__ = ("transaction_id", "ping_ancestors")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    PING_ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    ping_ancestors: bool
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., ping_ancestors: _Optional[bool] = ...) -> None: ...

class TRspPingTransaction(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqCommitTransaction(_message.Message):
    __slots__ = ("transaction_id", "additional_participant_cell_ids", "prerequisite_options", "mutating_options")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_PARTICIPANT_CELL_IDS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    additional_participant_cell_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., additional_participant_cell_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TTimestampMap(_message.Message):
    __slots__ = ("cell_tags", "timestamps")
    CELL_TAGS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPS_FIELD_NUMBER: _ClassVar[int]
    cell_tags: _containers.RepeatedScalarFieldContainer[int]
    timestamps: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cell_tags: _Optional[_Iterable[int]] = ..., timestamps: _Optional[_Iterable[int]] = ...) -> None: ...

class TRspCommitTransaction(_message.Message):
    __slots__ = ("commit_timestamps", "primary_commit_timestamp")
    COMMIT_TIMESTAMPS_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_COMMIT_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    commit_timestamps: TTimestampMap
    primary_commit_timestamp: int
    def __init__(self, commit_timestamps: _Optional[_Union[TTimestampMap, _Mapping]] = ..., primary_commit_timestamp: _Optional[int] = ...) -> None: ...

class TReqAbortTransaction(_message.Message):
    __slots__ = ("transaction_id", "mutating_options")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    mutating_options: TMutatingOptions
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspAbortTransaction(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqAttachTransaction(_message.Message):
    __slots__ = ("transaction_id", "auto_abort", "ping_period", "ping", "ping_ancestors")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    AUTO_ABORT_FIELD_NUMBER: _ClassVar[int]
    PING_PERIOD_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PING_ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    auto_abort: bool
    ping_period: int
    ping: bool
    ping_ancestors: bool
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., auto_abort: _Optional[bool] = ..., ping_period: _Optional[int] = ..., ping: _Optional[bool] = ..., ping_ancestors: _Optional[bool] = ...) -> None: ...

class TRspAttachTransaction(_message.Message):
    __slots__ = ("type", "start_timestamp", "atomicity", "durability", "timeout", "sequence_number_source_id")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    START_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    ATOMICITY_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    type: ETransactionType
    start_timestamp: int
    atomicity: EAtomicity
    durability: EDurability
    timeout: int
    sequence_number_source_id: int
    def __init__(self, type: _Optional[_Union[ETransactionType, str]] = ..., start_timestamp: _Optional[int] = ..., atomicity: _Optional[_Union[EAtomicity, str]] = ..., durability: _Optional[_Union[EDurability, str]] = ..., timeout: _Optional[int] = ..., sequence_number_source_id: _Optional[int] = ...) -> None: ...

class TReqDetachTransaction(_message.Message):
    __slots__ = ("transaction_id",)
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TRspDetachTransaction(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqFlushTransaction(_message.Message):
    __slots__ = ("transaction_id",)
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TRspFlushTransaction(_message.Message):
    __slots__ = ("participant_cell_ids",)
    PARTICIPANT_CELL_IDS_FIELD_NUMBER: _ClassVar[int]
    participant_cell_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    def __init__(self, participant_cell_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ...) -> None: ...

class TReqGenerateTimestamps(_message.Message):
    __slots__ = ("count", "clock_cluster_tag")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CLOCK_CLUSTER_TAG_FIELD_NUMBER: _ClassVar[int]
    count: int
    clock_cluster_tag: int
    def __init__(self, count: _Optional[int] = ..., clock_cluster_tag: _Optional[int] = ...) -> None: ...

class TRspGenerateTimestamps(_message.Message):
    __slots__ = ("timestamp",)
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    def __init__(self, timestamp: _Optional[int] = ...) -> None: ...

class TReqGetNode(_message.Message):
    __slots__ = ("path", "legacy_attributes", "max_size", "attributes", "transactional_options", "prerequisite_options", "suppressable_access_tracking_options", "options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    LEGACY_ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SIZE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    legacy_attributes: TLegacyAttributeKeys
    max_size: int
    attributes: _ypath_pb2.TAttributeFilter
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    options: _core_pb2.TAttributeDictionary
    def __init__(self, path: _Optional[str] = ..., legacy_attributes: _Optional[_Union[TLegacyAttributeKeys, _Mapping]] = ..., max_size: _Optional[int] = ..., attributes: _Optional[_Union[_ypath_pb2.TAttributeFilter, _Mapping]] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ..., options: _Optional[_Union[_core_pb2.TAttributeDictionary, _Mapping]] = ...) -> None: ...

class TRspGetNode(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TReqListNode(_message.Message):
    __slots__ = ("path", "legacy_attributes", "max_size", "attributes", "transactional_options", "prerequisite_options", "suppressable_access_tracking_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    LEGACY_ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SIZE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    legacy_attributes: TLegacyAttributeKeys
    max_size: int
    attributes: _ypath_pb2.TAttributeFilter
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., legacy_attributes: _Optional[_Union[TLegacyAttributeKeys, _Mapping]] = ..., max_size: _Optional[int] = ..., attributes: _Optional[_Union[_ypath_pb2.TAttributeFilter, _Mapping]] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TRspListNode(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TReqExistsNode(_message.Message):
    __slots__ = ("path", "transactional_options", "prerequisite_options", "suppressable_access_tracking_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TRspExistsNode(_message.Message):
    __slots__ = ("exists",)
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    exists: bool
    def __init__(self, exists: _Optional[bool] = ...) -> None: ...

class TReqCreateNode(_message.Message):
    __slots__ = ("path", "type", "attributes", "recursive", "force", "ignore_existing", "lock_existing", "ignore_type_mismatch", "transactional_options", "prerequisite_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    IGNORE_EXISTING_FIELD_NUMBER: _ClassVar[int]
    LOCK_EXISTING_FIELD_NUMBER: _ClassVar[int]
    IGNORE_TYPE_MISMATCH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    type: int
    attributes: _core_pb2.TAttributeDictionary
    recursive: bool
    force: bool
    ignore_existing: bool
    lock_existing: bool
    ignore_type_mismatch: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., type: _Optional[int] = ..., attributes: _Optional[_Union[_core_pb2.TAttributeDictionary, _Mapping]] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., ignore_existing: _Optional[bool] = ..., lock_existing: _Optional[bool] = ..., ignore_type_mismatch: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspCreateNode(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: _core_pb2.TGuid
    def __init__(self, node_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TReqCreateObject(_message.Message):
    __slots__ = ("type", "attributes", "ignore_existing", "sync", "mutating_options")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    IGNORE_EXISTING_FIELD_NUMBER: _ClassVar[int]
    SYNC_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    type: int
    attributes: _core_pb2.TAttributeDictionary
    ignore_existing: bool
    sync: bool
    mutating_options: TMutatingOptions
    def __init__(self, type: _Optional[int] = ..., attributes: _Optional[_Union[_core_pb2.TAttributeDictionary, _Mapping]] = ..., ignore_existing: _Optional[bool] = ..., sync: _Optional[bool] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspCreateObject(_message.Message):
    __slots__ = ("object_id",)
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    object_id: _core_pb2.TGuid
    def __init__(self, object_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TReqSetNode(_message.Message):
    __slots__ = ("path", "value", "recursive", "force", "transactional_options", "prerequisite_options", "mutating_options", "suppressable_access_tracking_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: bytes
    recursive: bool
    force: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., value: _Optional[bytes] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TRspSetNode(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqMultisetAttributesNode(_message.Message):
    __slots__ = ("path", "subrequests", "force", "transactional_options", "prerequisite_options", "mutating_options", "suppressable_access_tracking_options")
    class TSubrequest(_message.Message):
        __slots__ = ("attribute", "value")
        ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        attribute: str
        value: bytes
        def __init__(self, attribute: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    PATH_FIELD_NUMBER: _ClassVar[int]
    SUBREQUESTS_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    subrequests: _containers.RepeatedCompositeFieldContainer[TReqMultisetAttributesNode.TSubrequest]
    force: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., subrequests: _Optional[_Iterable[_Union[TReqMultisetAttributesNode.TSubrequest, _Mapping]]] = ..., force: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TRspMultisetAttributesNode(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqRemoveNode(_message.Message):
    __slots__ = ("path", "recursive", "force", "transactional_options", "prerequisite_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    recursive: bool
    force: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspRemoveNode(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqCopyNode(_message.Message):
    __slots__ = ("src_path", "dst_path", "recursive", "force", "preserve_account", "preserve_expiration_time", "preserve_creation_time", "ignore_existing", "pessimistic_quota_check", "preserve_modification_time", "preserve_owner", "preserve_acl", "lock_existing", "preserve_expiration_timeout", "enable_cross_cell_copying", "transactional_options", "prerequisite_options", "mutating_options")
    SRC_PATH_FIELD_NUMBER: _ClassVar[int]
    DST_PATH_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_EXPIRATION_TIME_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    IGNORE_EXISTING_FIELD_NUMBER: _ClassVar[int]
    PESSIMISTIC_QUOTA_CHECK_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_MODIFICATION_TIME_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_OWNER_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_ACL_FIELD_NUMBER: _ClassVar[int]
    LOCK_EXISTING_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_EXPIRATION_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    ENABLE_CROSS_CELL_COPYING_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    src_path: str
    dst_path: str
    recursive: bool
    force: bool
    preserve_account: bool
    preserve_expiration_time: bool
    preserve_creation_time: bool
    ignore_existing: bool
    pessimistic_quota_check: bool
    preserve_modification_time: bool
    preserve_owner: bool
    preserve_acl: bool
    lock_existing: bool
    preserve_expiration_timeout: bool
    enable_cross_cell_copying: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, src_path: _Optional[str] = ..., dst_path: _Optional[str] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., preserve_account: _Optional[bool] = ..., preserve_expiration_time: _Optional[bool] = ..., preserve_creation_time: _Optional[bool] = ..., ignore_existing: _Optional[bool] = ..., pessimistic_quota_check: _Optional[bool] = ..., preserve_modification_time: _Optional[bool] = ..., preserve_owner: _Optional[bool] = ..., preserve_acl: _Optional[bool] = ..., lock_existing: _Optional[bool] = ..., preserve_expiration_timeout: _Optional[bool] = ..., enable_cross_cell_copying: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspCopyNode(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: _core_pb2.TGuid
    def __init__(self, node_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TReqMoveNode(_message.Message):
    __slots__ = ("src_path", "dst_path", "recursive", "force", "preserve_account", "preserve_expiration_time", "pessimistic_quota_check", "preserve_creation_time", "preserve_modification_time", "preserve_owner", "preserve_expiration_timeout", "enable_cross_cell_copying", "transactional_options", "prerequisite_options", "mutating_options")
    SRC_PATH_FIELD_NUMBER: _ClassVar[int]
    DST_PATH_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_EXPIRATION_TIME_FIELD_NUMBER: _ClassVar[int]
    PESSIMISTIC_QUOTA_CHECK_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_MODIFICATION_TIME_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_OWNER_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_EXPIRATION_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    ENABLE_CROSS_CELL_COPYING_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    src_path: str
    dst_path: str
    recursive: bool
    force: bool
    preserve_account: bool
    preserve_expiration_time: bool
    pessimistic_quota_check: bool
    preserve_creation_time: bool
    preserve_modification_time: bool
    preserve_owner: bool
    preserve_expiration_timeout: bool
    enable_cross_cell_copying: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, src_path: _Optional[str] = ..., dst_path: _Optional[str] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., preserve_account: _Optional[bool] = ..., preserve_expiration_time: _Optional[bool] = ..., pessimistic_quota_check: _Optional[bool] = ..., preserve_creation_time: _Optional[bool] = ..., preserve_modification_time: _Optional[bool] = ..., preserve_owner: _Optional[bool] = ..., preserve_expiration_timeout: _Optional[bool] = ..., enable_cross_cell_copying: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspMoveNode(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: _core_pb2.TGuid
    def __init__(self, node_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TReqLinkNode(_message.Message):
    __slots__ = ("src_path", "dst_path", "recursive", "force", "ignore_existing", "lock_existing", "transactional_options", "prerequisite_options", "mutating_options")
    SRC_PATH_FIELD_NUMBER: _ClassVar[int]
    DST_PATH_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    IGNORE_EXISTING_FIELD_NUMBER: _ClassVar[int]
    LOCK_EXISTING_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    src_path: str
    dst_path: str
    recursive: bool
    force: bool
    ignore_existing: bool
    lock_existing: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, src_path: _Optional[str] = ..., dst_path: _Optional[str] = ..., recursive: _Optional[bool] = ..., force: _Optional[bool] = ..., ignore_existing: _Optional[bool] = ..., lock_existing: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspLinkNode(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: _core_pb2.TGuid
    def __init__(self, node_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TReqLockNode(_message.Message):
    __slots__ = ("path", "mode", "waitable", "child_key", "attribute_key", "transactional_options", "prerequisite_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    WAITABLE_FIELD_NUMBER: _ClassVar[int]
    CHILD_KEY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_KEY_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    mode: int
    waitable: bool
    child_key: str
    attribute_key: str
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., mode: _Optional[int] = ..., waitable: _Optional[bool] = ..., child_key: _Optional[str] = ..., attribute_key: _Optional[str] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspLockNode(_message.Message):
    __slots__ = ("node_id", "lock_id", "revision")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    node_id: _core_pb2.TGuid
    lock_id: _core_pb2.TGuid
    revision: int
    def __init__(self, node_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., lock_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class TReqUnlockNode(_message.Message):
    __slots__ = ("path", "transactional_options", "prerequisite_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspUnlockNode(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqConcatenateNodes(_message.Message):
    __slots__ = ("src_paths", "dst_path", "transactional_options", "mutating_options")
    SRC_PATHS_FIELD_NUMBER: _ClassVar[int]
    DST_PATH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    src_paths: _containers.RepeatedScalarFieldContainer[str]
    dst_path: str
    transactional_options: TTransactionalOptions
    mutating_options: TMutatingOptions
    def __init__(self, src_paths: _Optional[_Iterable[str]] = ..., dst_path: _Optional[str] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspConcatenateNodes(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqAddMember(_message.Message):
    __slots__ = ("group", "member", "mutating_options")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    group: str
    member: str
    mutating_options: TMutatingOptions
    def __init__(self, group: _Optional[str] = ..., member: _Optional[str] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspAddMember(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqRemoveMember(_message.Message):
    __slots__ = ("group", "member", "mutating_options")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    group: str
    member: str
    mutating_options: TMutatingOptions
    def __init__(self, group: _Optional[str] = ..., member: _Optional[str] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspRemoveMember(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TCheckPermissionResult(_message.Message):
    __slots__ = ("action", "object_id", "object_name", "subject_id", "subject_name")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECT_NAME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_NAME_FIELD_NUMBER: _ClassVar[int]
    action: ESecurityAction
    object_id: _core_pb2.TGuid
    object_name: str
    subject_id: _core_pb2.TGuid
    subject_name: str
    def __init__(self, action: _Optional[_Union[ESecurityAction, str]] = ..., object_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., object_name: _Optional[str] = ..., subject_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., subject_name: _Optional[str] = ...) -> None: ...

class TReqTransferAccountResources(_message.Message):
    __slots__ = ("src_account", "dst_account", "resource_delta", "mutating_options")
    SRC_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    DST_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_DELTA_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    src_account: str
    dst_account: str
    resource_delta: bytes
    mutating_options: TMutatingOptions
    def __init__(self, src_account: _Optional[str] = ..., dst_account: _Optional[str] = ..., resource_delta: _Optional[bytes] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspTransferAccountResources(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqCheckPermission(_message.Message):
    __slots__ = ("user", "path", "permission", "columns", "vital", "transactional_options", "prerequisite_options")
    class TColumns(_message.Message):
        __slots__ = ("items",)
        ITEMS_FIELD_NUMBER: _ClassVar[int]
        items: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...
    USER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    VITAL_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    user: str
    path: str
    permission: int
    columns: TReqCheckPermission.TColumns
    vital: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    def __init__(self, user: _Optional[str] = ..., path: _Optional[str] = ..., permission: _Optional[int] = ..., columns: _Optional[_Union[TReqCheckPermission.TColumns, _Mapping]] = ..., vital: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ...) -> None: ...

class TRspCheckPermission(_message.Message):
    __slots__ = ("result", "columns")
    class TColumns(_message.Message):
        __slots__ = ("items",)
        ITEMS_FIELD_NUMBER: _ClassVar[int]
        items: _containers.RepeatedCompositeFieldContainer[TCheckPermissionResult]
        def __init__(self, items: _Optional[_Iterable[_Union[TCheckPermissionResult, _Mapping]]] = ...) -> None: ...
    RESULT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    result: TCheckPermissionResult
    columns: TRspCheckPermission.TColumns
    def __init__(self, result: _Optional[_Union[TCheckPermissionResult, _Mapping]] = ..., columns: _Optional[_Union[TRspCheckPermission.TColumns, _Mapping]] = ...) -> None: ...

class TCheckPermissionByAclResult(_message.Message):
    __slots__ = ("action", "subject_id", "subject_name", "missing_subjects")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    action: ESecurityAction
    subject_id: _core_pb2.TGuid
    subject_name: str
    missing_subjects: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, action: _Optional[_Union[ESecurityAction, str]] = ..., subject_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., subject_name: _Optional[str] = ..., missing_subjects: _Optional[_Iterable[str]] = ...) -> None: ...

class TReqCheckPermissionByAcl(_message.Message):
    __slots__ = ("user", "permission", "acl", "ignore_missing_subjects", "prerequisite_options")
    USER_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    IGNORE_MISSING_SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    user: str
    permission: int
    acl: bytes
    ignore_missing_subjects: bool
    prerequisite_options: TPrerequisiteOptions
    def __init__(self, user: _Optional[str] = ..., permission: _Optional[int] = ..., acl: _Optional[bytes] = ..., ignore_missing_subjects: _Optional[bool] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ...) -> None: ...

class TRspCheckPermissionByAcl(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: TCheckPermissionByAclResult
    def __init__(self, result: _Optional[_Union[TCheckPermissionByAclResult, _Mapping]] = ...) -> None: ...

class TReqMountTable(_message.Message):
    __slots__ = ("path", "cell_id", "freeze", "target_cell_ids", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    FREEZE_FIELD_NUMBER: _ClassVar[int]
    TARGET_CELL_IDS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    cell_id: _core_pb2.TGuid
    freeze: bool
    target_cell_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., cell_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., freeze: _Optional[bool] = ..., target_cell_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspMountTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqUnmountTable(_message.Message):
    __slots__ = ("path", "force", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    force: bool
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., force: _Optional[bool] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspUnmountTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqRemountTable(_message.Message):
    __slots__ = ("path", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspRemountTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqFreezeTable(_message.Message):
    __slots__ = ("path", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspFreezeTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqUnfreezeTable(_message.Message):
    __slots__ = ("path", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspUnfreezeTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqReshardTable(_message.Message):
    __slots__ = ("path", "tablet_count", "uniform", "enable_slicing", "slicing_accuracy", "mutating_options", "tablet_range_options", "rowset_descriptor")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TABLET_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNIFORM_FIELD_NUMBER: _ClassVar[int]
    ENABLE_SLICING_FIELD_NUMBER: _ClassVar[int]
    SLICING_ACCURACY_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    path: str
    tablet_count: int
    uniform: bool
    enable_slicing: bool
    slicing_accuracy: float
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, path: _Optional[str] = ..., tablet_count: _Optional[int] = ..., uniform: _Optional[bool] = ..., enable_slicing: _Optional[bool] = ..., slicing_accuracy: _Optional[float] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspReshardTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqReshardTableAutomatic(_message.Message):
    __slots__ = ("path", "keep_actions", "mutating_options", "tablet_range_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    KEEP_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TABLET_RANGE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    keep_actions: bool
    mutating_options: TMutatingOptions
    tablet_range_options: TTabletRangeOptions
    def __init__(self, path: _Optional[str] = ..., keep_actions: _Optional[bool] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ..., tablet_range_options: _Optional[_Union[TTabletRangeOptions, _Mapping]] = ...) -> None: ...

class TRspReshardTableAutomatic(_message.Message):
    __slots__ = ("tablet_actions",)
    TABLET_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    tablet_actions: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    def __init__(self, tablet_actions: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ...) -> None: ...

class TReqBalanceTabletCells(_message.Message):
    __slots__ = ("bundle", "movable_tables", "keep_actions", "mutating_options")
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    MOVABLE_TABLES_FIELD_NUMBER: _ClassVar[int]
    KEEP_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    bundle: str
    movable_tables: _containers.RepeatedScalarFieldContainer[str]
    keep_actions: bool
    mutating_options: TMutatingOptions
    def __init__(self, bundle: _Optional[str] = ..., movable_tables: _Optional[_Iterable[str]] = ..., keep_actions: _Optional[bool] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspBalanceTabletCells(_message.Message):
    __slots__ = ("tablet_actions",)
    TABLET_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    tablet_actions: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    def __init__(self, tablet_actions: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ...) -> None: ...

class TReqAlterTable(_message.Message):
    __slots__ = ("path", "schema", "dynamic", "upstream_replica_id", "schema_id", "transactional_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    DYNAMIC_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    schema: bytes
    dynamic: bool
    upstream_replica_id: _core_pb2.TGuid
    schema_id: _core_pb2.TGuid
    transactional_options: TTransactionalOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., schema: _Optional[bytes] = ..., dynamic: _Optional[bool] = ..., upstream_replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., schema_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspAlterTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqAlterTableReplica(_message.Message):
    __slots__ = ("replica_id", "enabled", "mode", "preserve_timestamps", "atomicity", "enable_replicated_table_tracker", "mutating_options")
    REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_TIMESTAMPS_FIELD_NUMBER: _ClassVar[int]
    ATOMICITY_FIELD_NUMBER: _ClassVar[int]
    ENABLE_REPLICATED_TABLE_TRACKER_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    replica_id: _core_pb2.TGuid
    enabled: bool
    mode: ETableReplicaMode
    preserve_timestamps: bool
    atomicity: EAtomicity
    enable_replicated_table_tracker: bool
    mutating_options: TMutatingOptions
    def __init__(self, replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., enabled: _Optional[bool] = ..., mode: _Optional[_Union[ETableReplicaMode, str]] = ..., preserve_timestamps: _Optional[bool] = ..., atomicity: _Optional[_Union[EAtomicity, str]] = ..., enable_replicated_table_tracker: _Optional[bool] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TRspAlterTableReplica(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqTrimTable(_message.Message):
    __slots__ = ("path", "tablet_index", "trimmed_row_count")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TABLET_INDEX_FIELD_NUMBER: _ClassVar[int]
    TRIMMED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    path: str
    tablet_index: int
    trimmed_row_count: int
    def __init__(self, path: _Optional[str] = ..., tablet_index: _Optional[int] = ..., trimmed_row_count: _Optional[int] = ...) -> None: ...

class TRspTrimTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TTabletInfo(_message.Message):
    __slots__ = ("tablet_id", "mount_revision", "state", "pivot_key", "cell_id", "cell_config_version")
    TABLET_ID_FIELD_NUMBER: _ClassVar[int]
    MOUNT_REVISION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PIVOT_KEY_FIELD_NUMBER: _ClassVar[int]
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    CELL_CONFIG_VERSION_FIELD_NUMBER: _ClassVar[int]
    tablet_id: _core_pb2.TGuid
    mount_revision: int
    state: int
    pivot_key: bytes
    cell_id: _core_pb2.TGuid
    cell_config_version: int
    def __init__(self, tablet_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., mount_revision: _Optional[int] = ..., state: _Optional[int] = ..., pivot_key: _Optional[bytes] = ..., cell_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., cell_config_version: _Optional[int] = ...) -> None: ...

class TReplicaInfo(_message.Message):
    __slots__ = ("replica_id", "cluster_name", "replica_path", "mode")
    REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    REPLICA_PATH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    replica_id: _core_pb2.TGuid
    cluster_name: str
    replica_path: str
    mode: ETableReplicaMode
    def __init__(self, replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., cluster_name: _Optional[str] = ..., replica_path: _Optional[str] = ..., mode: _Optional[_Union[ETableReplicaMode, str]] = ...) -> None: ...

class TReqGetTableMountInfo(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class TRspGetTableMountInfo(_message.Message):
    __slots__ = ("table_id", "schema", "tablets", "dynamic", "upstream_replica_id", "replicas", "physical_path")
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TABLETS_FIELD_NUMBER: _ClassVar[int]
    DYNAMIC_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_PATH_FIELD_NUMBER: _ClassVar[int]
    table_id: _core_pb2.TGuid
    schema: TTableSchema
    tablets: _containers.RepeatedCompositeFieldContainer[TTabletInfo]
    dynamic: bool
    upstream_replica_id: _core_pb2.TGuid
    replicas: _containers.RepeatedCompositeFieldContainer[TReplicaInfo]
    physical_path: str
    def __init__(self, table_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., schema: _Optional[_Union[TTableSchema, _Mapping]] = ..., tablets: _Optional[_Iterable[_Union[TTabletInfo, _Mapping]]] = ..., dynamic: _Optional[bool] = ..., upstream_replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., replicas: _Optional[_Iterable[_Union[TReplicaInfo, _Mapping]]] = ..., physical_path: _Optional[str] = ...) -> None: ...

class TReqGetTabletInfos(_message.Message):
    __slots__ = ("path", "tablet_indexes", "request_errors")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TABLET_INDEXES_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ERRORS_FIELD_NUMBER: _ClassVar[int]
    path: str
    tablet_indexes: _containers.RepeatedScalarFieldContainer[int]
    request_errors: bool
    def __init__(self, path: _Optional[str] = ..., tablet_indexes: _Optional[_Iterable[int]] = ..., request_errors: _Optional[bool] = ...) -> None: ...

class TRspGetTabletInfos(_message.Message):
    __slots__ = ("tablets",)
    class TTabletInfo(_message.Message):
        __slots__ = ("total_row_count", "trimmed_row_count", "barrier_timestamp", "last_write_timestamp", "replicas", "tablet_errors", "delayed_lockless_row_count")
        class TReplicaInfo(_message.Message):
            __slots__ = ("replica_id", "last_replication_timestamp", "mode", "current_replication_row_index", "replication_error", "committed_replication_row_index")
            REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
            LAST_REPLICATION_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
            MODE_FIELD_NUMBER: _ClassVar[int]
            CURRENT_REPLICATION_ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
            REPLICATION_ERROR_FIELD_NUMBER: _ClassVar[int]
            COMMITTED_REPLICATION_ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
            replica_id: _core_pb2.TGuid
            last_replication_timestamp: int
            mode: ETableReplicaMode
            current_replication_row_index: int
            replication_error: _core_pb2.TError
            committed_replication_row_index: int
            def __init__(self, replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., last_replication_timestamp: _Optional[int] = ..., mode: _Optional[_Union[ETableReplicaMode, str]] = ..., current_replication_row_index: _Optional[int] = ..., replication_error: _Optional[_Union[_core_pb2.TError, _Mapping]] = ..., committed_replication_row_index: _Optional[int] = ...) -> None: ...
        TOTAL_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
        TRIMMED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
        BARRIER_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
        LAST_WRITE_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
        REPLICAS_FIELD_NUMBER: _ClassVar[int]
        TABLET_ERRORS_FIELD_NUMBER: _ClassVar[int]
        DELAYED_LOCKLESS_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
        total_row_count: int
        trimmed_row_count: int
        barrier_timestamp: int
        last_write_timestamp: int
        replicas: _containers.RepeatedCompositeFieldContainer[TRspGetTabletInfos.TTabletInfo.TReplicaInfo]
        tablet_errors: _containers.RepeatedCompositeFieldContainer[_core_pb2.TError]
        delayed_lockless_row_count: int
        def __init__(self, total_row_count: _Optional[int] = ..., trimmed_row_count: _Optional[int] = ..., barrier_timestamp: _Optional[int] = ..., last_write_timestamp: _Optional[int] = ..., replicas: _Optional[_Iterable[_Union[TRspGetTabletInfos.TTabletInfo.TReplicaInfo, _Mapping]]] = ..., tablet_errors: _Optional[_Iterable[_Union[_core_pb2.TError, _Mapping]]] = ..., delayed_lockless_row_count: _Optional[int] = ...) -> None: ...
    TABLETS_FIELD_NUMBER: _ClassVar[int]
    tablets: _containers.RepeatedCompositeFieldContainer[TRspGetTabletInfos.TTabletInfo]
    def __init__(self, tablets: _Optional[_Iterable[_Union[TRspGetTabletInfos.TTabletInfo, _Mapping]]] = ...) -> None: ...

class TReqGetTabletErrors(_message.Message):
    __slots__ = ("path", "limit")
    PATH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    path: str
    limit: int
    def __init__(self, path: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class TRspGetTabletErrors(_message.Message):
    __slots__ = ("tablet_ids", "tablet_errors", "replica_ids", "replication_errors", "incomplete")
    class TErrorList(_message.Message):
        __slots__ = ("errors",)
        ERRORS_FIELD_NUMBER: _ClassVar[int]
        errors: _containers.RepeatedCompositeFieldContainer[_core_pb2.TError]
        def __init__(self, errors: _Optional[_Iterable[_Union[_core_pb2.TError, _Mapping]]] = ...) -> None: ...
    TABLET_IDS_FIELD_NUMBER: _ClassVar[int]
    TABLET_ERRORS_FIELD_NUMBER: _ClassVar[int]
    REPLICA_IDS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_ERRORS_FIELD_NUMBER: _ClassVar[int]
    INCOMPLETE_FIELD_NUMBER: _ClassVar[int]
    tablet_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    tablet_errors: _containers.RepeatedCompositeFieldContainer[TRspGetTabletErrors.TErrorList]
    replica_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    replication_errors: _containers.RepeatedCompositeFieldContainer[TRspGetTabletErrors.TErrorList]
    incomplete: bool
    def __init__(self, tablet_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ..., tablet_errors: _Optional[_Iterable[_Union[TRspGetTabletErrors.TErrorList, _Mapping]]] = ..., replica_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ..., replication_errors: _Optional[_Iterable[_Union[TRspGetTabletErrors.TErrorList, _Mapping]]] = ..., incomplete: _Optional[bool] = ...) -> None: ...

class TReqGetTablePivotKeys(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class TRspGetTablePivotKeys(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TReqGetInSyncReplicas(_message.Message):
    __slots__ = ("path", "timestamp", "rowset_descriptor")
    PATH_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    path: str
    timestamp: int
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, path: _Optional[str] = ..., timestamp: _Optional[int] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspGetInSyncReplicas(_message.Message):
    __slots__ = ("replica_ids",)
    REPLICA_IDS_FIELD_NUMBER: _ClassVar[int]
    replica_ids: _containers.RepeatedCompositeFieldContainer[_core_pb2.TGuid]
    def __init__(self, replica_ids: _Optional[_Iterable[_Union[_core_pb2.TGuid, _Mapping]]] = ...) -> None: ...

class TLockMask(_message.Message):
    __slots__ = ("bitmap", "size")
    BITMAP_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    bitmap: _containers.RepeatedScalarFieldContainer[int]
    size: int
    def __init__(self, bitmap: _Optional[_Iterable[int]] = ..., size: _Optional[int] = ...) -> None: ...

class TReqModifyRows(_message.Message):
    __slots__ = ("transaction_id", "path", "row_modification_types", "require_sync_replica", "upstream_replica_id", "sequence_number", "row_legacy_read_locks", "row_legacy_locks", "sequence_number_source_id", "allow_missing_key_columns", "row_locks", "rowset_descriptor")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ROW_MODIFICATION_TYPES_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_SYNC_REPLICA_FIELD_NUMBER: _ClassVar[int]
    UPSTREAM_REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    ROW_LEGACY_READ_LOCKS_FIELD_NUMBER: _ClassVar[int]
    ROW_LEGACY_LOCKS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_MISSING_KEY_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROW_LOCKS_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    path: str
    row_modification_types: _containers.RepeatedScalarFieldContainer[ERowModificationType]
    require_sync_replica: bool
    upstream_replica_id: _core_pb2.TGuid
    sequence_number: int
    row_legacy_read_locks: _containers.RepeatedScalarFieldContainer[int]
    row_legacy_locks: _containers.RepeatedScalarFieldContainer[int]
    sequence_number_source_id: int
    allow_missing_key_columns: bool
    row_locks: _containers.RepeatedCompositeFieldContainer[TLockMask]
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., path: _Optional[str] = ..., row_modification_types: _Optional[_Iterable[_Union[ERowModificationType, str]]] = ..., require_sync_replica: _Optional[bool] = ..., upstream_replica_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., sequence_number: _Optional[int] = ..., row_legacy_read_locks: _Optional[_Iterable[int]] = ..., row_legacy_locks: _Optional[_Iterable[int]] = ..., sequence_number_source_id: _Optional[int] = ..., allow_missing_key_columns: _Optional[bool] = ..., row_locks: _Optional[_Iterable[_Union[TLockMask, _Mapping]]] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspModifyRows(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqBatchModifyRows(_message.Message):
    __slots__ = ("transaction_id", "part_counts")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    PART_COUNTS_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    part_counts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., part_counts: _Optional[_Iterable[int]] = ...) -> None: ...

class TRspBatchModifyRows(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqLookupRows(_message.Message):
    __slots__ = ("path", "columns", "timestamp", "keep_missing_rows", "enable_partial_result", "use_lookup_cache", "retention_timestamp", "rowset_descriptor")
    PATH_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    KEEP_MISSING_ROWS_FIELD_NUMBER: _ClassVar[int]
    ENABLE_PARTIAL_RESULT_FIELD_NUMBER: _ClassVar[int]
    USE_LOOKUP_CACHE_FIELD_NUMBER: _ClassVar[int]
    RETENTION_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    path: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    timestamp: int
    keep_missing_rows: bool
    enable_partial_result: bool
    use_lookup_cache: bool
    retention_timestamp: int
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, path: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., timestamp: _Optional[int] = ..., keep_missing_rows: _Optional[bool] = ..., enable_partial_result: _Optional[bool] = ..., use_lookup_cache: _Optional[bool] = ..., retention_timestamp: _Optional[int] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspLookupRows(_message.Message):
    __slots__ = ("rowset_descriptor", "unavailable_key_indexes")
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_KEY_INDEXES_FIELD_NUMBER: _ClassVar[int]
    rowset_descriptor: TRowsetDescriptor
    unavailable_key_indexes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., unavailable_key_indexes: _Optional[_Iterable[int]] = ...) -> None: ...

class TRetentionConfig(_message.Message):
    __slots__ = ("min_data_versions", "max_data_versions", "min_data_ttl", "max_data_ttl", "ignore_major_timestamp")
    MIN_DATA_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_DATA_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MIN_DATA_TTL_FIELD_NUMBER: _ClassVar[int]
    MAX_DATA_TTL_FIELD_NUMBER: _ClassVar[int]
    IGNORE_MAJOR_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    min_data_versions: int
    max_data_versions: int
    min_data_ttl: int
    max_data_ttl: int
    ignore_major_timestamp: bool
    def __init__(self, min_data_versions: _Optional[int] = ..., max_data_versions: _Optional[int] = ..., min_data_ttl: _Optional[int] = ..., max_data_ttl: _Optional[int] = ..., ignore_major_timestamp: _Optional[bool] = ...) -> None: ...

class TReqVersionedLookupRows(_message.Message):
    __slots__ = ("path", "columns", "timestamp", "keep_missing_rows", "retention_config", "enable_partial_result", "use_lookup_cache", "rowset_descriptor")
    PATH_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    KEEP_MISSING_ROWS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_CONFIG_FIELD_NUMBER: _ClassVar[int]
    ENABLE_PARTIAL_RESULT_FIELD_NUMBER: _ClassVar[int]
    USE_LOOKUP_CACHE_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    path: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    timestamp: int
    keep_missing_rows: bool
    retention_config: TRetentionConfig
    enable_partial_result: bool
    use_lookup_cache: bool
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, path: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., timestamp: _Optional[int] = ..., keep_missing_rows: _Optional[bool] = ..., retention_config: _Optional[_Union[TRetentionConfig, _Mapping]] = ..., enable_partial_result: _Optional[bool] = ..., use_lookup_cache: _Optional[bool] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspVersionedLookupRows(_message.Message):
    __slots__ = ("rowset_descriptor", "unavailable_key_indexes")
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_KEY_INDEXES_FIELD_NUMBER: _ClassVar[int]
    rowset_descriptor: TRowsetDescriptor
    unavailable_key_indexes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., unavailable_key_indexes: _Optional[_Iterable[int]] = ...) -> None: ...

class TReqMultiLookup(_message.Message):
    __slots__ = ("subrequests", "timestamp")
    class TSubrequest(_message.Message):
        __slots__ = ("path", "columns", "keep_missing_rows", "enable_partial_result", "rowset_descriptor", "attachment_count")
        PATH_FIELD_NUMBER: _ClassVar[int]
        COLUMNS_FIELD_NUMBER: _ClassVar[int]
        KEEP_MISSING_ROWS_FIELD_NUMBER: _ClassVar[int]
        ENABLE_PARTIAL_RESULT_FIELD_NUMBER: _ClassVar[int]
        ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
        ATTACHMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
        path: str
        columns: _containers.RepeatedScalarFieldContainer[str]
        keep_missing_rows: bool
        enable_partial_result: bool
        rowset_descriptor: TRowsetDescriptor
        attachment_count: int
        def __init__(self, path: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., keep_missing_rows: _Optional[bool] = ..., enable_partial_result: _Optional[bool] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., attachment_count: _Optional[int] = ...) -> None: ...
    SUBREQUESTS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    subrequests: _containers.RepeatedCompositeFieldContainer[TReqMultiLookup.TSubrequest]
    timestamp: int
    def __init__(self, subrequests: _Optional[_Iterable[_Union[TReqMultiLookup.TSubrequest, _Mapping]]] = ..., timestamp: _Optional[int] = ...) -> None: ...

class TRspMultiLookup(_message.Message):
    __slots__ = ("subresponses",)
    class TSubresponse(_message.Message):
        __slots__ = ("rowset_descriptor", "attachment_count")
        ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
        ATTACHMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
        rowset_descriptor: TRowsetDescriptor
        attachment_count: int
        def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., attachment_count: _Optional[int] = ...) -> None: ...
    SUBRESPONSES_FIELD_NUMBER: _ClassVar[int]
    subresponses: _containers.RepeatedCompositeFieldContainer[TRspMultiLookup.TSubresponse]
    def __init__(self, subresponses: _Optional[_Iterable[_Union[TRspMultiLookup.TSubresponse, _Mapping]]] = ...) -> None: ...

class TReqSelectRows(_message.Message):
    __slots__ = ("query", "timestamp", "input_row_limit", "output_row_limit", "range_expansion_limit", "fail_on_incomplete_result", "verbose_logging", "enable_code_cache", "max_subqueries", "allow_full_scan", "allow_join_without_index", "udf_registry_path", "memory_limit_per_node", "execution_pool", "retention_timestamp", "placeholder_values", "new_range_inference", "use_canonical_null_relations", "merge_versioned_rows", "syntax_version", "execution_backend", "suppressable_access_tracking_options")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    INPUT_ROW_LIMIT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_ROW_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RANGE_EXPANSION_LIMIT_FIELD_NUMBER: _ClassVar[int]
    FAIL_ON_INCOMPLETE_RESULT_FIELD_NUMBER: _ClassVar[int]
    VERBOSE_LOGGING_FIELD_NUMBER: _ClassVar[int]
    ENABLE_CODE_CACHE_FIELD_NUMBER: _ClassVar[int]
    MAX_SUBQUERIES_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FULL_SCAN_FIELD_NUMBER: _ClassVar[int]
    ALLOW_JOIN_WITHOUT_INDEX_FIELD_NUMBER: _ClassVar[int]
    UDF_REGISTRY_PATH_FIELD_NUMBER: _ClassVar[int]
    MEMORY_LIMIT_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_POOL_FIELD_NUMBER: _ClassVar[int]
    RETENTION_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    PLACEHOLDER_VALUES_FIELD_NUMBER: _ClassVar[int]
    NEW_RANGE_INFERENCE_FIELD_NUMBER: _ClassVar[int]
    USE_CANONICAL_NULL_RELATIONS_FIELD_NUMBER: _ClassVar[int]
    MERGE_VERSIONED_ROWS_FIELD_NUMBER: _ClassVar[int]
    SYNTAX_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_BACKEND_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    query: str
    timestamp: int
    input_row_limit: int
    output_row_limit: int
    range_expansion_limit: int
    fail_on_incomplete_result: bool
    verbose_logging: bool
    enable_code_cache: bool
    max_subqueries: int
    allow_full_scan: bool
    allow_join_without_index: bool
    udf_registry_path: str
    memory_limit_per_node: int
    execution_pool: str
    retention_timestamp: int
    placeholder_values: bytes
    new_range_inference: bool
    use_canonical_null_relations: bool
    merge_versioned_rows: bool
    syntax_version: int
    execution_backend: int
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, query: _Optional[str] = ..., timestamp: _Optional[int] = ..., input_row_limit: _Optional[int] = ..., output_row_limit: _Optional[int] = ..., range_expansion_limit: _Optional[int] = ..., fail_on_incomplete_result: _Optional[bool] = ..., verbose_logging: _Optional[bool] = ..., enable_code_cache: _Optional[bool] = ..., max_subqueries: _Optional[int] = ..., allow_full_scan: _Optional[bool] = ..., allow_join_without_index: _Optional[bool] = ..., udf_registry_path: _Optional[str] = ..., memory_limit_per_node: _Optional[int] = ..., execution_pool: _Optional[str] = ..., retention_timestamp: _Optional[int] = ..., placeholder_values: _Optional[bytes] = ..., new_range_inference: _Optional[bool] = ..., use_canonical_null_relations: _Optional[bool] = ..., merge_versioned_rows: _Optional[bool] = ..., syntax_version: _Optional[int] = ..., execution_backend: _Optional[int] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TQueryStatistics(_message.Message):
    __slots__ = ("rows_read", "data_weight_read", "incomplete_input", "incomplete_output")
    ROWS_READ_FIELD_NUMBER: _ClassVar[int]
    DATA_WEIGHT_READ_FIELD_NUMBER: _ClassVar[int]
    INCOMPLETE_INPUT_FIELD_NUMBER: _ClassVar[int]
    INCOMPLETE_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    rows_read: int
    data_weight_read: int
    incomplete_input: bool
    incomplete_output: bool
    def __init__(self, rows_read: _Optional[int] = ..., data_weight_read: _Optional[int] = ..., incomplete_input: _Optional[bool] = ..., incomplete_output: _Optional[bool] = ...) -> None: ...

class TRspSelectRows(_message.Message):
    __slots__ = ("rowset_descriptor", "statistics")
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    rowset_descriptor: TRowsetDescriptor
    statistics: TQueryStatistics
    def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., statistics: _Optional[_Union[TQueryStatistics, _Mapping]] = ...) -> None: ...

class TReqExplainQuery(_message.Message):
    __slots__ = ("query", "allow_full_scan", "allow_join_without_index")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FULL_SCAN_FIELD_NUMBER: _ClassVar[int]
    ALLOW_JOIN_WITHOUT_INDEX_FIELD_NUMBER: _ClassVar[int]
    query: str
    allow_full_scan: bool
    allow_join_without_index: bool
    def __init__(self, query: _Optional[str] = ..., allow_full_scan: _Optional[bool] = ..., allow_join_without_index: _Optional[bool] = ...) -> None: ...

class TRspExplainQuery(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class TRowBatchReadOptions(_message.Message):
    __slots__ = ("max_row_count", "max_data_weight", "data_weight_per_row_hint")
    MAX_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    MAX_DATA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    DATA_WEIGHT_PER_ROW_HINT_FIELD_NUMBER: _ClassVar[int]
    max_row_count: int
    max_data_weight: int
    data_weight_per_row_hint: int
    def __init__(self, max_row_count: _Optional[int] = ..., max_data_weight: _Optional[int] = ..., data_weight_per_row_hint: _Optional[int] = ...) -> None: ...

class TReqPullQueue(_message.Message):
    __slots__ = ("queue_path", "offset", "partition_index", "row_batch_read_options", "use_native_tablet_node_api")
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INDEX_FIELD_NUMBER: _ClassVar[int]
    ROW_BATCH_READ_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    USE_NATIVE_TABLET_NODE_API_FIELD_NUMBER: _ClassVar[int]
    queue_path: str
    offset: int
    partition_index: int
    row_batch_read_options: TRowBatchReadOptions
    use_native_tablet_node_api: bool
    def __init__(self, queue_path: _Optional[str] = ..., offset: _Optional[int] = ..., partition_index: _Optional[int] = ..., row_batch_read_options: _Optional[_Union[TRowBatchReadOptions, _Mapping]] = ..., use_native_tablet_node_api: _Optional[bool] = ...) -> None: ...

class TRspPullQueue(_message.Message):
    __slots__ = ("rowset_descriptor", "start_offset")
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    rowset_descriptor: TRowsetDescriptor
    start_offset: int
    def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., start_offset: _Optional[int] = ...) -> None: ...

class TReqPullQueueConsumer(_message.Message):
    __slots__ = ("consumer_path", "queue_path", "offset", "partition_index", "row_batch_read_options")
    CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INDEX_FIELD_NUMBER: _ClassVar[int]
    ROW_BATCH_READ_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    consumer_path: str
    queue_path: str
    offset: int
    partition_index: int
    row_batch_read_options: TRowBatchReadOptions
    def __init__(self, consumer_path: _Optional[str] = ..., queue_path: _Optional[str] = ..., offset: _Optional[int] = ..., partition_index: _Optional[int] = ..., row_batch_read_options: _Optional[_Union[TRowBatchReadOptions, _Mapping]] = ...) -> None: ...

class TRspPullQueueConsumer(_message.Message):
    __slots__ = ("rowset_descriptor", "start_offset")
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    rowset_descriptor: TRowsetDescriptor
    start_offset: int
    def __init__(self, rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ..., start_offset: _Optional[int] = ...) -> None: ...

class TReqAdvanceQueueConsumer(_message.Message):
    __slots__ = ("transaction_id", "consumer_path", "queue_path", "partition_index", "old_offset", "new_offset")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    PARTITION_INDEX_FIELD_NUMBER: _ClassVar[int]
    OLD_OFFSET_FIELD_NUMBER: _ClassVar[int]
    NEW_OFFSET_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    consumer_path: str
    queue_path: str
    partition_index: int
    old_offset: int
    new_offset: int
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., consumer_path: _Optional[str] = ..., queue_path: _Optional[str] = ..., partition_index: _Optional[int] = ..., old_offset: _Optional[int] = ..., new_offset: _Optional[int] = ...) -> None: ...

class TRspAdvanceQueueConsumer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqRegisterQueueConsumer(_message.Message):
    __slots__ = ("queue_path", "consumer_path", "vital", "partitions")
    class TRegistrationPartitions(_message.Message):
        __slots__ = ("items",)
        ITEMS_FIELD_NUMBER: _ClassVar[int]
        items: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, items: _Optional[_Iterable[int]] = ...) -> None: ...
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
    VITAL_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    queue_path: str
    consumer_path: str
    vital: bool
    partitions: TReqRegisterQueueConsumer.TRegistrationPartitions
    def __init__(self, queue_path: _Optional[str] = ..., consumer_path: _Optional[str] = ..., vital: _Optional[bool] = ..., partitions: _Optional[_Union[TReqRegisterQueueConsumer.TRegistrationPartitions, _Mapping]] = ...) -> None: ...

class TRspRegisterQueueConsumer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqUnregisterQueueConsumer(_message.Message):
    __slots__ = ("queue_path", "consumer_path")
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
    queue_path: str
    consumer_path: str
    def __init__(self, queue_path: _Optional[str] = ..., consumer_path: _Optional[str] = ...) -> None: ...

class TRspUnregisterQueueConsumer(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqListQueueConsumerRegistrations(_message.Message):
    __slots__ = ("queue_path", "consumer_path")
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
    queue_path: str
    consumer_path: str
    def __init__(self, queue_path: _Optional[str] = ..., consumer_path: _Optional[str] = ...) -> None: ...

class TRspListQueueConsumerRegistrations(_message.Message):
    __slots__ = ("registrations",)
    class TQueueConsumerRegistration(_message.Message):
        __slots__ = ("queue_path", "consumer_path", "vital", "partitions")
        class TRegistrationPartitions(_message.Message):
            __slots__ = ("items",)
            ITEMS_FIELD_NUMBER: _ClassVar[int]
            items: _containers.RepeatedScalarFieldContainer[int]
            def __init__(self, items: _Optional[_Iterable[int]] = ...) -> None: ...
        QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
        CONSUMER_PATH_FIELD_NUMBER: _ClassVar[int]
        VITAL_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        queue_path: str
        consumer_path: str
        vital: bool
        partitions: TRspListQueueConsumerRegistrations.TQueueConsumerRegistration.TRegistrationPartitions
        def __init__(self, queue_path: _Optional[str] = ..., consumer_path: _Optional[str] = ..., vital: _Optional[bool] = ..., partitions: _Optional[_Union[TRspListQueueConsumerRegistrations.TQueueConsumerRegistration.TRegistrationPartitions, _Mapping]] = ...) -> None: ...
    REGISTRATIONS_FIELD_NUMBER: _ClassVar[int]
    registrations: _containers.RepeatedCompositeFieldContainer[TRspListQueueConsumerRegistrations.TQueueConsumerRegistration]
    def __init__(self, registrations: _Optional[_Iterable[_Union[TRspListQueueConsumerRegistrations.TQueueConsumerRegistration, _Mapping]]] = ...) -> None: ...

class TReqCreateQueueProducerSession(_message.Message):
    __slots__ = ("producer_path", "queue_path", "session_id", "user_meta")
    PRODUCER_PATH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    USER_META_FIELD_NUMBER: _ClassVar[int]
    producer_path: str
    queue_path: str
    session_id: str
    user_meta: bytes
    def __init__(self, producer_path: _Optional[str] = ..., queue_path: _Optional[str] = ..., session_id: _Optional[str] = ..., user_meta: _Optional[bytes] = ...) -> None: ...

class TRspCreateQueueProducerSession(_message.Message):
    __slots__ = ("sequence_number", "epoch", "user_meta")
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    USER_META_FIELD_NUMBER: _ClassVar[int]
    sequence_number: int
    epoch: int
    user_meta: bytes
    def __init__(self, sequence_number: _Optional[int] = ..., epoch: _Optional[int] = ..., user_meta: _Optional[bytes] = ...) -> None: ...

class TReqRemoveQueueProducerSession(_message.Message):
    __slots__ = ("producer_path", "queue_path", "session_id")
    PRODUCER_PATH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    producer_path: str
    queue_path: str
    session_id: str
    def __init__(self, producer_path: _Optional[str] = ..., queue_path: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class TRspRemoveQueueProducerSession(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqPushQueueProducer(_message.Message):
    __slots__ = ("transaction_id", "producer_path", "queue_path", "session_id", "epoch", "user_meta", "sequence_number", "rowset_descriptor")
    TRANSACTION_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_PATH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PATH_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    USER_META_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    ROWSET_DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    transaction_id: _core_pb2.TGuid
    producer_path: str
    queue_path: str
    session_id: str
    epoch: int
    user_meta: bytes
    sequence_number: int
    rowset_descriptor: TRowsetDescriptor
    def __init__(self, transaction_id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ..., producer_path: _Optional[str] = ..., queue_path: _Optional[str] = ..., session_id: _Optional[str] = ..., epoch: _Optional[int] = ..., user_meta: _Optional[bytes] = ..., sequence_number: _Optional[int] = ..., rowset_descriptor: _Optional[_Union[TRowsetDescriptor, _Mapping]] = ...) -> None: ...

class TRspPushQueueProducer(_message.Message):
    __slots__ = ("last_sequence_number", "skipped_row_count")
    LAST_SEQUENCE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    last_sequence_number: int
    skipped_row_count: int
    def __init__(self, last_sequence_number: _Optional[int] = ..., skipped_row_count: _Optional[int] = ...) -> None: ...

class TReqGetColumnarStatistics(_message.Message):
    __slots__ = ("paths", "transactional_options")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    transactional_options: TTransactionalOptions
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ...) -> None: ...

class TColumnarStatistics(_message.Message):
    __slots__ = ("column_data_weights", "timestamp_total_weight", "legacy_chunk_data_weight", "column_min_values", "column_max_values", "column_non_null_value_counts", "chunk_row_count", "legacy_chunk_row_count")
    COLUMN_DATA_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_TOTAL_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    LEGACY_CHUNK_DATA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    COLUMN_MIN_VALUES_FIELD_NUMBER: _ClassVar[int]
    COLUMN_MAX_VALUES_FIELD_NUMBER: _ClassVar[int]
    COLUMN_NON_NULL_VALUE_COUNTS_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEGACY_CHUNK_ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    column_data_weights: _containers.RepeatedScalarFieldContainer[int]
    timestamp_total_weight: int
    legacy_chunk_data_weight: int
    column_min_values: bytes
    column_max_values: bytes
    column_non_null_value_counts: _containers.RepeatedScalarFieldContainer[int]
    chunk_row_count: int
    legacy_chunk_row_count: int
    def __init__(self, column_data_weights: _Optional[_Iterable[int]] = ..., timestamp_total_weight: _Optional[int] = ..., legacy_chunk_data_weight: _Optional[int] = ..., column_min_values: _Optional[bytes] = ..., column_max_values: _Optional[bytes] = ..., column_non_null_value_counts: _Optional[_Iterable[int]] = ..., chunk_row_count: _Optional[int] = ..., legacy_chunk_row_count: _Optional[int] = ...) -> None: ...

class TRspGetColumnarStatistics(_message.Message):
    __slots__ = ("statistics",)
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    statistics: _containers.RepeatedCompositeFieldContainer[TColumnarStatistics]
    def __init__(self, statistics: _Optional[_Iterable[_Union[TColumnarStatistics, _Mapping]]] = ...) -> None: ...

class TReqPartitionTables(_message.Message):
    __slots__ = ("paths", "partition_mode", "data_weight_per_partition", "max_partition_count", "enable_key_guarantee", "adjust_data_weight_per_partition", "transactional_options")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_MODE_FIELD_NUMBER: _ClassVar[int]
    DATA_WEIGHT_PER_PARTITION_FIELD_NUMBER: _ClassVar[int]
    MAX_PARTITION_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENABLE_KEY_GUARANTEE_FIELD_NUMBER: _ClassVar[int]
    ADJUST_DATA_WEIGHT_PER_PARTITION_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    partition_mode: EPartitionTablesMode
    data_weight_per_partition: int
    max_partition_count: int
    enable_key_guarantee: bool
    adjust_data_weight_per_partition: bool
    transactional_options: TTransactionalOptions
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., partition_mode: _Optional[_Union[EPartitionTablesMode, str]] = ..., data_weight_per_partition: _Optional[int] = ..., max_partition_count: _Optional[int] = ..., enable_key_guarantee: _Optional[bool] = ..., adjust_data_weight_per_partition: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ...) -> None: ...

class TMultiTablePartition(_message.Message):
    __slots__ = ("table_ranges", "aggregate_statistics")
    class TStatistics(_message.Message):
        __slots__ = ("chunk_count", "data_weight", "row_count")
        CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
        DATA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
        ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
        chunk_count: int
        data_weight: int
        row_count: int
        def __init__(self, chunk_count: _Optional[int] = ..., data_weight: _Optional[int] = ..., row_count: _Optional[int] = ...) -> None: ...
    TABLE_RANGES_FIELD_NUMBER: _ClassVar[int]
    AGGREGATE_STATISTICS_FIELD_NUMBER: _ClassVar[int]
    table_ranges: _containers.RepeatedScalarFieldContainer[str]
    aggregate_statistics: TMultiTablePartition.TStatistics
    def __init__(self, table_ranges: _Optional[_Iterable[str]] = ..., aggregate_statistics: _Optional[_Union[TMultiTablePartition.TStatistics, _Mapping]] = ...) -> None: ...

class TRspPartitionTables(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[TMultiTablePartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[TMultiTablePartition, _Mapping]]] = ...) -> None: ...

class TReqReadTable(_message.Message):
    __slots__ = ("path", "unordered", "omit_inaccessible_columns", "config", "enable_table_index", "enable_row_index", "enable_range_index", "desired_rowset_format", "format", "arrow_fallback_rowset_format", "transactional_options", "suppressable_access_tracking_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    UNORDERED_FIELD_NUMBER: _ClassVar[int]
    OMIT_INACCESSIBLE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    ENABLE_TABLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ENABLE_ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
    ENABLE_RANGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    DESIRED_ROWSET_FORMAT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    ARROW_FALLBACK_ROWSET_FORMAT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    unordered: bool
    omit_inaccessible_columns: bool
    config: bytes
    enable_table_index: bool
    enable_row_index: bool
    enable_range_index: bool
    desired_rowset_format: ERowsetFormat
    format: bytes
    arrow_fallback_rowset_format: ERowsetFormat
    transactional_options: TTransactionalOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., unordered: _Optional[bool] = ..., omit_inaccessible_columns: _Optional[bool] = ..., config: _Optional[bytes] = ..., enable_table_index: _Optional[bool] = ..., enable_row_index: _Optional[bool] = ..., enable_range_index: _Optional[bool] = ..., desired_rowset_format: _Optional[_Union[ERowsetFormat, str]] = ..., format: _Optional[bytes] = ..., arrow_fallback_rowset_format: _Optional[_Union[ERowsetFormat, str]] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TRspReadTableMeta(_message.Message):
    __slots__ = ("start_row_index", "omitted_inaccessible_columns", "statistics", "schema")
    START_ROW_INDEX_FIELD_NUMBER: _ClassVar[int]
    OMITTED_INACCESSIBLE_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    start_row_index: int
    omitted_inaccessible_columns: _containers.RepeatedScalarFieldContainer[str]
    statistics: TRowsetStatistics
    schema: TTableSchema
    def __init__(self, start_row_index: _Optional[int] = ..., omitted_inaccessible_columns: _Optional[_Iterable[str]] = ..., statistics: _Optional[_Union[TRowsetStatistics, _Mapping]] = ..., schema: _Optional[_Union[TTableSchema, _Mapping]] = ...) -> None: ...

class TRspReadTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqWriteTable(_message.Message):
    __slots__ = ("path", "config", "format", "transactional_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    config: bytes
    format: bytes
    transactional_options: TTransactionalOptions
    def __init__(self, path: _Optional[str] = ..., config: _Optional[bytes] = ..., format: _Optional[bytes] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ...) -> None: ...

class TWriteTableMeta(_message.Message):
    __slots__ = ("schema",)
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    schema: TTableSchema
    def __init__(self, schema: _Optional[_Union[TTableSchema, _Mapping]] = ...) -> None: ...

class TRspWriteTable(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqReadFile(_message.Message):
    __slots__ = ("path", "offset", "length", "config", "transactional_options", "suppressable_access_tracking_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSABLE_ACCESS_TRACKING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    offset: int
    length: int
    config: bytes
    transactional_options: TTransactionalOptions
    suppressable_access_tracking_options: TSuppressableAccessTrackingOptions
    def __init__(self, path: _Optional[str] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., config: _Optional[bytes] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., suppressable_access_tracking_options: _Optional[_Union[TSuppressableAccessTrackingOptions, _Mapping]] = ...) -> None: ...

class TReadFileMeta(_message.Message):
    __slots__ = ("revision", "id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    id: _core_pb2.TGuid
    def __init__(self, revision: _Optional[int] = ..., id: _Optional[_Union[_core_pb2.TGuid, _Mapping]] = ...) -> None: ...

class TRspReadFile(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqWriteFile(_message.Message):
    __slots__ = ("path", "compute_md5", "config", "transactional_options", "prerequisite_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_MD5_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    compute_md5: bool
    config: bytes
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    def __init__(self, path: _Optional[str] = ..., compute_md5: _Optional[bool] = ..., config: _Optional[bytes] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ...) -> None: ...

class TRspWriteFile(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TReqGetFileFromCache(_message.Message):
    __slots__ = ("md5", "cache_path", "transactional_options")
    MD5_FIELD_NUMBER: _ClassVar[int]
    CACHE_PATH_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    md5: str
    cache_path: str
    transactional_options: TTransactionalOptions
    def __init__(self, md5: _Optional[str] = ..., cache_path: _Optional[str] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ...) -> None: ...

class TGetFileFromCacheResult(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class TRspGetFileFromCache(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: TGetFileFromCacheResult
    def __init__(self, result: _Optional[_Union[TGetFileFromCacheResult, _Mapping]] = ...) -> None: ...

class TReqPutFileToCache(_message.Message):
    __slots__ = ("path", "md5", "cache_path", "preserve_expiration_timeout", "transactional_options", "prerequisite_options", "mutating_options")
    PATH_FIELD_NUMBER: _ClassVar[int]
    MD5_FIELD_NUMBER: _ClassVar[int]
    CACHE_PATH_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_EXPIRATION_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREREQUISITE_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    MUTATING_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    path: str
    md5: str
    cache_path: str
    preserve_expiration_timeout: bool
    transactional_options: TTransactionalOptions
    prerequisite_options: TPrerequisiteOptions
    mutating_options: TMutatingOptions
    def __init__(self, path: _Optional[str] = ..., md5: _Optional[str] = ..., cache_path: _Optional[str] = ..., preserve_expiration_timeout: _Optional[bool] = ..., transactional_options: _Optional[_Union[TTransactionalOptions, _Mapping]] = ..., prerequisite_options: _Optional[_Union[TPrerequisiteOptions, _Mapping]] = ..., mutating_options: _Optional[_Union[TMutatingOptions, _Mapping]] = ...) -> None: ...

class TPutFileToCacheResult(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class TRspPutFileToCache(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: TPutFileToCacheResult
    def __init__(self, result: _Optional[_Union[TPutFileToCacheResult, _Mapping]] = ...) -> None: ...

class TReqDiscoverProxies(_message.Message):
    __slots__ = ("role", "address_type", "network_name")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_TYPE_FIELD_NUMBER: _ClassVar[int]
    NETWORK_NAME_FIELD_NUMBER: _ClassVar[int]
    role: str
    address_type: int
    network_name: str
    def __init__(self, role: _Optional[str] = ..., address_type: _Optional[int] = ..., network_name: _Optional[str] = ...) -> None: ...

class TRspDiscoverProxies(_message.Message):
    __slots__ = ("addresses",)
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, addresses: _Optional[_Iterable[str]] = ...) -> None: ...
