"""JSON that is written token by token and knows how long it is already."""

from __future__ import annotations

import json


class JsonText:
    """Text of one value; a comma is written only with what follows it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._filled: list[bool] = []
        """Of each list and map that is open, innermost last: whether something is in it."""

        self.size = 0
        """Bytes written."""

    def __str__(self) -> str:
        return "".join(self._parts)

    def begin_list(self) -> None:
        self._separate()
        self._open("[")

    def end_list(self) -> None:
        self._close("]")

    def begin_map(self) -> None:
        self._separate()
        self._open("{")

    def end_map(self) -> None:
        self._close("}")

    def key(self, name: str) -> None:
        """The key of what is written next."""
        self._separate()
        self._write(json.dumps(name, ensure_ascii=False) + ":")
        self._filled[-1] = False  # no comma before its value

    def value(self, value: object) -> None:
        """Anything that `json.dumps` takes."""
        self._separate()
        self._write(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def _separate(self) -> None:
        if self._filled:
            if self._filled[-1]:
                self._write(",")
            self._filled[-1] = True

    def _open(self, bracket: str) -> None:
        self._write(bracket)
        self._filled.append(False)

    def _close(self, bracket: str) -> None:
        self._filled.pop()
        self._write(bracket)

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self.size += len(text) if text.isascii() else len(text.encode())
