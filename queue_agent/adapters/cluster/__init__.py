"""Clusters over HTTP: requests, batches, proxies, errors."""
