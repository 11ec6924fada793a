"""KEDA's external scaler: how many readers a consumer needs, by gRPC; needs the extra `keda`."""
