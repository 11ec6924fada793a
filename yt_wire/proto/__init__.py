"""Protobuf messages of bus and RPC; every `*_pb2` module is generated from the `.proto` file next to it."""
