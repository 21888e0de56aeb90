"""The values of a foreign file, as the rules of its system read them, and what the rules say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError, UsageError
from assay.run.foreign.keys import ForeignKeys

NOTHING = ("", "none", "null", "~")  # text that stands for no value


@dataclass(frozen=True)
class Lack:
    """What a file cannot say of a run, so that a later source of the setup must: one of these fields.

    Lack(("steps",), "num_train_epochs counts rows of openai/gsm8k, which are not here: write --steps N.")
    """

    fields: tuple[str, ...]
    sentence: str
    when: tuple[str, ...] = ()  # it lacks only if a later source gives one of these; empty: in any case


@dataclass
class FileView:
    """The values of a file by flat key, with the defaults of its system, and the verdicts of rules on keys.

    view = FileView(keys_of("trl"), {"epsilon": 0.2})
    view.number("epsilon"), view.number("beta")  # 0.2, 0.0: the default of TRL
    """

    keys: ForeignKeys
    values: Mapping[str, Any]
    refused: dict[str, str] = field(default_factory=dict)  # key -> why
    told: dict[str, str] = field(default_factory=dict)  # key -> what differs
    idle: dict[str, str] = field(default_factory=dict)  # key -> why this value does nothing here
    lacks: list[Lack] = field(default_factory=list)

    def given(self, key: str) -> bool:
        """Whether the file gives a value for the key."""
        return not nothing(self.values.get(key))

    def value(self, key: str) -> Any:
        """The value in the file, or the default of the system; None if neither is there."""
        if self.given(key):
            return self.values[key]
        row = self.keys.row(key)
        return None if row is None else row.default

    def number(self, key: str) -> float | None:
        """The value as a number; YAML reads 1e-6 as text."""
        value = self.value(key)
        if value is None:
            return None
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"{key} must be a number, and is {value!r}.")
        return number

    def real(self, key: str, otherwise: float = 0.0) -> float:
        """The value as a number that has a default."""
        number = self.number(key)
        return otherwise if number is None else number

    def count(self, key: str) -> int | None:
        """The value as a whole number."""
        number = self.number(key)
        if number is not None and number != int(number):
            raise DataError(f"{key} must be a whole number, and is {self.value(key)!r}.")
        return None if number is None else int(number)

    def whole(self, key: str, otherwise: int = 0) -> int:
        """The value as a whole number that has a default."""
        count = self.count(key)
        return otherwise if count is None else count

    def flag(self, key: str) -> bool:
        """The value as a truth value."""
        value = self.value(key)
        text = word(value)
        if value is not None and text not in ("true", "false"):
            raise DataError(f"{key} must be true or false, and is {value!r}.")
        return text == "true"

    def text(self, key: str) -> str:
        """The value as text; empty if there is none."""
        value = self.value(key)
        return "" if value is None else word(value) if isinstance(value, bool) else str(value)

    def items(self, key: str) -> list[str]:
        """The value as a list of texts; text is split at commas."""
        value = self.value(key)
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else self.text(key).split(",")
        texts = (str(item).strip(" ,") for item in listed)
        return [text for text in texts if text]

    def numbers(self, key: str, most: int = 0) -> list[float]:
        """The value as a list of numbers, of which there are `most` unless that is 0; text is split at spaces too."""
        texts = [text for item in self.items(key) for text in item.split()]
        try:
            found = [float(text) for text in texts]
        except ValueError:
            raise DataError(f"{key} must be numbers, and is {self.value(key)!r}.") from None
        if most and len(found) != most:
            raise DataError(f"{key} must be {most} numbers, and is {self.value(key)!r}.")
        return found

    def record(self, key: str) -> Mapping[str, Any]:
        """The value as a mapping; a script may write it as JSON."""
        value = self.value(key)
        if isinstance(value, str):
            value = _json(key, value)
        if value is not None and not isinstance(value, Mapping):
            raise DataError(f"{key} must be a mapping, and is {value!r}.")
        return value or {}

    def chosen(self, key: str, choices: Mapping[str, Any], otherwise: Any = None) -> Any:
        """Our counterpart of the value; another value is refused, and `otherwise` stands in for it."""
        if (text := self.text(key)) in choices:
            return choices[text]
        self.refuse(key, f"the values with a counterpart are {', '.join(choices)}")
        return otherwise

    def refuse(self, key: str, why: str) -> None:
        """The value of this key changes what is computed, and has no counterpart."""
        self.refused.setdefault(key, why)

    def tell(self, key: str, what: str) -> None:
        """The value of this key is honoured but for a difference."""
        self.told.setdefault(key, what)

    def let_lie(self, key: str, why: str) -> None:
        """The value of this key does nothing here."""
        self.idle.setdefault(key, why)

    def need(self, *fields: str, sentence: str, when: tuple[str, ...] = ()) -> None:
        """A later source must give one of these fields."""
        self.lacks.append(Lack(fields, sentence, when))


def nothing(value: Any) -> bool:
    """Whether a value stands for none."""
    return value is None or (isinstance(value, str) and value.strip().lower() in NOTHING)


def word(value: Any) -> str:
    """A value in lower case, as tables write it."""
    return str(value).strip().lower()


def _json(key: str, text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"{key} must be a mapping as JSON, and is {text!r}.") from None
