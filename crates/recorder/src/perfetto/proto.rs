//! The written messages, with numbers of Perfetto's schema
//! (protos/perfetto/trace/perfetto_trace.proto).

use prost::{Enumeration, Message};

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
pub(super) enum ChildOrdering {
    Unknown = 0,
    Explicit = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(super) process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    pub(super) unit_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    // Perfetto's query engine ignores packed ones.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
pub(super) enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
}
