"""A contract of import-linter that lists what may be imported: whatever is not on the list is refused."""

from __future__ import annotations

from typing import Any, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowedImports(Contract):
    """Modules of some packages may import each other, and modules on a list with all below them."""

    type_name = "allowed_imports"

    source_modules = fields.ListField(subfield=fields.StringField())
    allowed_modules = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Every direct import of every source module, wherever in the module it is."""
        sources, listed = cast(list[str], self.source_modules), cast(list[str], self.allowed_modules)
        allowed = [*sources, *listed]
        refused = [
            detail
            for source in sources
            for module in sorted({source} | graph.find_descendants(source))
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if not any(imported == one or imported.startswith(f"{one}.") for one in allowed)
            for detail in graph.get_import_details(importer=module, imported=imported)
        ]
        return ContractCheck(kept=not refused, metadata={"refused": refused})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Each import that is not on the list, with its line."""
        refused: list[dict[str, Any]] = check.metadata["refused"]
        for one in refused:
            output.print_error(f"{one['importer']} is not allowed to import {one['imported']} (l.{one['line_number']})")
        output.new_line()
