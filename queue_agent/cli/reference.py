"""Reference pages that are made from the code: `python -m queue_agent.cli.reference` writes them into `docs/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from queue_agent.adapters.metrics.metrics_manual import metrics_page
from queue_agent.cli.commands_manual import commands_pages
from queue_agent.cli.completion_index import completion_index
from queue_agent.config.agent import AgentConfig
from queue_agent.config.options import ConfigModel
from queue_agent.trim_policies import ConstraintKind
from yt_local.reference.page import render_reference

DOCS: Final = Path(__file__).parents[2] / "docs"
INDEX: Final = Path(__file__).with_name("completions.json")
"""What `completing` reads of the commands."""

POLICIES_HEAD: Final = "| kind | bound | trimming ends here because |\n| --- | --- | --- |\n"
"""What is below these lines of the page on trimming is generated, up to the next empty line."""


def pages() -> Mapping[str, str]:
    """Content of every page that is generated, or has something generated in it, by its file name in `docs/`."""
    return {
        **commands_pages(),
        "configuration.md": _configuration(),
        **render_reference(),
        "metrics.md": metrics_page(),
        "trimming.md": _trimming(),
    }


def write_pages() -> None:
    for name, content in pages().items():
        (DOCS / name).write_text(content)
    INDEX.write_text(completion_index())


def _configuration() -> str:
    lines = [
        "# Configuration of `queue-agent run`",
        "",
        "Generated from the code (`make docs`). Files are YAML (`.yaml`, `.yml`) or YSON (`.yson`). A bare number",
        "given for a duration means milliseconds; an ISO 8601 duration such as `PT1M30S` also works.",
        "Unknown keys are refused.",
        "",
        "| field | default | meaning |",
        "| --- | --- | --- |",
        *_rows(AgentConfig, ""),
        "",
    ]
    return "\n".join(lines)


def _rows(model: type[ConfigModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        section, nested_prefix = _section(field, path)
        default = "" if section else _default(field)
        yield f"| `{path}` | {default} | {_one_line(field.description or '')} |"
        if section:
            yield from _rows(section, nested_prefix)


def _section(field: FieldInfo, path: str) -> tuple[type[ConfigModel] | None, str]:
    """The model a field holds, itself or as the values of a map."""
    name = "NAME." if get_origin(field.annotation) in (dict, Mapping) else ""
    candidates = [(field.annotation, f"{path}.")]
    candidates += [(argument, f"{path}.{name}") for argument in get_args(field.annotation)]
    for annotation, prefix in candidates:
        if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
            return annotation, prefix
    return None, ""


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "see right"
    default: Any = field.default
    if default is PydanticUndefined:
        return "required"
    if isinstance(default, timedelta):
        return f"{default / timedelta(milliseconds=1):g}"
    return f"`{default}`" if default is not None else "none"


def _trimming() -> str:
    """The page as people write it, with the table of policies."""
    before, head, after = (DOCS / "trimming.md").read_text().partition(POLICIES_HEAD)
    if not head:
        raise ValueError(f"docs/trimming.md has lost its lines {POLICIES_HEAD!r}")
    rows = "".join(f"| `{kind.value}` | {kind.gives.value} | {kind.words} |\n" for kind in ConstraintKind)
    _, _, rest = after.partition("\n\n")
    return f"{before}{head}{rows}\n{rest}"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    write_pages()
