"""Ends with 0 if this machine can run a Kubernetes, else with 1 and one line that says why not."""

from __future__ import annotations

import sys

from deploy.kubernetes_tests.machine import why_not

if __name__ == "__main__" and (reason := why_not()):
    sys.exit(f"check-kubernetes is skipped: {reason}")
