"""Hatch takes packages of the project's own folder; these two are at the top of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES: Final = ("yt_local", "yt_wire")


class Packages(BuildHookInterface[Any]):
    """Puts the packages into a wheel or a source distribution; editable ones have the repository on their path."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        if version == "editable":
            return
        own = Path(self.root)
        # In an unpacked source distribution they are beside this file.
        top = own if (own / PACKAGES[0]).is_dir() else own.parent.parent
        build_data["force_include"] |= {str(top / package): package for package in PACKAGES}
