"""What travels between processes: YSON, YPath, errors, HTTP headers, bus packets and RPC messages."""
