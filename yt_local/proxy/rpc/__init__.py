"""The RPC proxy of a local cluster: a translation of protobuf messages to commands and back."""
