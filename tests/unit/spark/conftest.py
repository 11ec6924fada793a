"""These tests need no session, but the libraries of the extra `spark`."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pyspark") and find_spec("matplotlib") else ["test_*.py"]
