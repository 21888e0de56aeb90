"""A foreign file as a source of a setup, with a verdict on each of its keys.

translated(Path("grpo.yaml")).given  # {"recipe": "grpo", "model": ..., "settings": {"scale.group_size": 8, ...}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import UsageError, unknown
from assay.run.configure import override
from assay.run.foreign import forms, openrlhf, prime_rl, trl, verl
from assay.run.foreign.keys import ForeignKey, ForeignKeys, Outcome, keys_of
from assay.run.foreign.parts import PLAIN, Rule, Settings
from assay.run.foreign.shell import UNKNOWN
from assay.run.foreign.view import FileView, Lack, nothing, word

RULES: Mapping[str, Mapping[str, Rule]] = {
    "trl": trl.RULES,
    "verl": verl.RULES,
    "openrlhf": openrlhf.RULES,
    "prime_rl": prime_rl.RULES,
}
FIELDS = ("recipe", "model", "task", "data", "eval_data", "prompt_column", "answer_column", "skip_bad_rows")
OWN = (*FIELDS, "system", "reward", "profile", "steps", "seed", "run", "track")
"""What a rule may give that is a field of a setup; everything else is the path of a setting."""
NAMED = ("model", "data", "task")  # fields without which there is no run
LISTS = ("data", "eval_data", "task", "reward", "track")


SECRET = re.compile(r"(^|[._])(hub_token|push_to_hub_token|api_key|password|secret)$|wandb\.key$")
"""The end of a key whose value lets somebody in."""


@dataclass(frozen=True)
class Answer:
    """What became of one key of a file. The value of a token or a password is shown to nobody."""

    key: str
    value: Any
    outcome: Outcome
    ours: str = ""  # our settings with the values that they were given
    because: str = ""

    def __post_init__(self) -> None:
        if SECRET.search(self.key) and self.value:
            object.__setattr__(self, "value", "(not shown)")

    @property
    def without_effect(self) -> bool:
        """Whether nothing of a run comes from this key."""
        return self.outcome != "ours" and not self.ours


@dataclass(frozen=True)
class Translation:
    """A foreign file: whose it is, what it says of a setup, and what became of each of its keys."""

    path: Path
    system: str
    given: Settings
    answers: Sequence[Answer]
    lacks: Sequence[Lack]
    remarks: Sequence[str] = ()  # on what of the file was not read
    defaults: Sequence[Answer] = ()  # keys that the file leaves out, whose defaults the run has

    def of(self, *outcomes: Outcome) -> list[Answer]:
        """The keys with one of these outcomes."""
        return [answer for answer in self.answers if answer.outcome in outcomes]


def translated(path: Path) -> Translation | None:
    """What a file for another trainer says; None if it is one of ours. Refuses keys that its system does not have."""
    written = forms.read(path)
    if written is None:
        return None
    of = keys_of(written.system)
    if strange := [key for key in written.values if of.row(key) is None]:
        raise unknown(f"key of {of.system}", strange[0], of.rows, of.page)
    return of_values(of, path, written.values, written.remarks)


def of_values(of: ForeignKeys, path: Path, values: Mapping[str, Any], remarks: Sequence[str] = ()) -> Translation:
    """The same of values by flat key."""
    view = FileView(of, {key: value for key, value in values.items() if not _unknown(value)})
    made = _made(view)
    answers = [*_answers(view, made), *(_open(view, key) for key, value in values.items() if _unknown(value))]
    return Translation(path, of.system, _given(made), answers, view.lacks, remarks, _defaults(view, made))


def _unknown(value: Any) -> bool:
    """Whether only a shell could tell the value."""
    return UNKNOWN in str(value)


def _open(view: FileView, key: str) -> Answer:
    """The answer to a key whose value only a shell could tell: it must be known if the result depends on it."""
    row, shown = view.keys.row(key), "set by a command or a condition"
    assert row is not None
    if not (row.ours and row.computes):
        return Answer(key, shown, "idle", because=row.because or "only a shell could tell, and no result depends on it")
    names, why = [_path(setting) for setting in row.settings], "only a shell could tell: write the value, or give"
    if not set(names) <= {*NAMED, "eval_data", "recipe"}:
        return Answer(key, shown, "refused", because=f"{why} --{row.settings[0]} in a file of Assay's")
    if needed := [name for name in names if name in NAMED]:
        view.need(*needed, sentence=f"{key} is {shown}, which {why} --{row.settings[0]}.")
    return Answer(key, shown, "told", because=f"{why} --{row.settings[0]}")


def source(path: Path, translation: Translation) -> Settings:
    """The source of a setup that a foreign file is. Refuses values that change what is computed and have no
    counterpart.
    """
    if refused := translation.of("refused"):
        lines = [f"  {answer.key} = {_shown(answer.value)}: {answer.because}" for answer in refused]
        raise UsageError(
            f"{path} is a file of {translation.system}'s and asks for what a run here would not do:\n"
            + "\n".join(lines)
            + f"\nTake these keys out to train without it; `assay show {path}` tells what became of every key."
        )
    return {**translation.given, "lacks": tuple(translation.lacks)}


def summary(translation: Translation) -> list[str]:
    """What is told at the start of a run: differences in full, keys without effect by name."""
    lines = [f"{translation.path}: {translation.system}'s settings; {len(translation.of('ours'))} keys are honoured"]
    differing = [*translation.of("told"), *(answer for answer in translation.defaults if answer.outcome == "told")]
    lines += [f"  {answer.key} = {_shown(answer.value)}: {answer.because}" for answer in differing]
    if idle := translation.of("idle"):
        lines.append(f"  without effect: {', '.join(answer.key for answer in idle)}")
    lines += [f"  {remark}" for remark in translation.remarks]
    return [*lines, f"  `assay show {translation.path}` tells why, and what stands for each key here"]


def single(of: ForeignKeys, values: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """(our settings for these keys alone, key -> a sentence where there are none), for keys that a person typed."""
    view = FileView(of, values)
    rules = [name for name in RULES[of.name] if any((row := of.row(key)) and row.by == name for key in values)]
    plain = {setting: value for key in values for setting, value in _plainly(view, key)}
    made = _merged(plain, dict(_ruled(view, rules)))
    return made, {answer.key: answer.because for answer in _answers(view, made) if answer.outcome != "ours"}


def _made(view: FileView) -> Settings:
    """The fields and settings that the values say, beside GRPO without additions."""
    plain = dict(_plain(view))
    return {"profile": "paper", **PLAIN, **_merged(plain, dict(_ruled(view, list(RULES[view.keys.name]))))}


def _given(made: Settings) -> Settings:
    """The same as a source of a setup, without the settings that the recipe has already."""
    settings = {path: value for path, value in made.items() if path not in OWN}
    fields = {name: value for name, value in made.items() if name in OWN}
    return {**fields, "settings": dict(_differing(str(made.get("recipe", "grpo")), settings))}


def _plain(view: FileView) -> Iterator[tuple[str, Any]]:
    """(our setting, value) for each key whose value is ours as it stands, or by a list of values."""
    for key in view.keys.rows:
        yield from _plainly(view, key)


def _plainly(view: FileView, key: str) -> Iterator[tuple[str, Any]]:
    """(our setting, value) of one key, if no rule reads it."""
    row, value = view.keys.row(key), view.value(key)
    if row is None or not row.ours or row.by or value is None:
        return
    if row.values and word(value) not in row.values:
        view.refuse(key, f"the values with a counterpart are {', '.join(row.values)}")
        return
    value = row.values[word(value)] if row.values else value
    for path in map(_path, row.settings):
        yield path, _number(value) if path.startswith("scale.") else [value] if path in LISTS else value


def _ruled(view: FileView, rules: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """What the rules say. Lists of parts to which two rules add are one list."""
    made: Settings = {}
    for name in rules:
        made = _merged(made, RULES[view.keys.name][name](view))
    yield from made.items()


def _merged(one: Settings, other: Settings) -> Settings:
    both = {path for path in one if path.startswith("mechanism.") and path in other}
    return {**one, **other} | {path: [*one[path], *other[path]] for path in both if isinstance(one[path], list)}


def _number(value: Any) -> Any:
    """A number that YAML or a shell has as text, such as 1e-6, as a number."""
    try:
        return value if not isinstance(value, str) else int(value) if value.lstrip("-").isdecimal() else float(value)
    except ValueError:
        return value


def _differing(name: str, settings: Settings) -> Iterator[tuple[str, Any]]:
    """The settings without those of the mechanism that the recipe has already."""
    from assay.known import recipe

    plain = recipe(name)
    for path, value in settings.items():
        if not path.startswith("mechanism.") or override(plain, path, value) != plain:
            yield path, value


def _answers(view: FileView, made: Settings) -> list[Answer]:
    """What became of each key of the file, and of defaults that are refused."""
    keys = [*view.values, *(key for key in view.refused if key not in view.values)]
    return [_answer(view, key, made) for key in keys]


def _defaults(view: FileView, made: Settings) -> list[Answer]:
    """The keys that the file leaves out and that decide what is computed by their defaults."""
    rows = [row for key, row in view.keys.rows.items() if key not in {*view.values, *view.idle, *view.refused}]
    deciding = [row for row in rows if row.ours and row.computes and row.default is not None]
    left = {row.key: row for row in deciding if any(_holder(_path(name), made) for name in row.settings)}
    return [_answer(view, key, made) for key in {**left, **{row.key: row for row in rows if row.key in view.told}}]


def _answer(view: FileView, key: str, made: Settings) -> Answer:
    """The verdict of the rules, or else that of the table."""
    row, value = view.keys.row(key), view.value(key)
    assert row is not None
    if key in view.refused:
        left = "" if key in view.values else " (the default, since the file leaves it out)"
        return Answer(key, value, "refused", because=view.refused[key] + left)
    if key in view.told:
        return Answer(key, value, "told", _with_values(row, made), view.told[key])
    if key in view.idle:
        return Answer(key, value, "idle", because=view.idle[key])
    if row.ours:
        return Answer(key, value, "ours", _with_values(row, made), row.because)
    neutral = nothing(value) or any(_alike(value, one) for one in row.neutral)
    return Answer(key, value, "idle" if neutral else row.outcome, because=row.because)


def _alike(value: Any, neutral: Any) -> bool:
    """Whether a value is this one, as a number, a truth value or text."""
    if isinstance(neutral, float) and not isinstance(value, bool):
        return _number(value) == neutral
    return word(value) == word(neutral) if not isinstance(neutral, dict | list) else value == neutral


def _with_values(row: ForeignKey, made: Settings) -> str:
    """Our settings for a key as the command line writes them, with the values that they were given."""
    return ", ".join(_with_value(setting, made) for setting in row.settings)


def _with_value(setting: str, made: Settings) -> str:
    """A setting with its value, which may be a field of a part."""
    path = _path(setting)
    holder = _holder(path, made)
    value = None if holder is None else made[holder]
    if holder is not None and holder != path:
        value = value.get(path.removeprefix(f"{holder}.")) if isinstance(value, Mapping) else None
    name = setting if setting == "recipe" else f"--{setting}"
    return name if value is None else f"{name} {_written(value)}"


def _holder(path: str, made: Settings) -> str | None:
    """The setting that is this one, or a part with this field."""
    return next((one for one in made if one == path or path.startswith(f"{one}.")), None)


def _written(value: Any) -> str:
    """A value in words: a part by its name and its fields."""
    if isinstance(value, Mapping):
        fields = " ".join(f"{key}={_written(item)}" for key, item in value.items() if key != "part")
        return f"{value['part']}({fields})" if "part" in value and fields else str(value.get("part", fields))
    if isinstance(value, list | tuple):
        return ",".join(map(_written, value)) or "none"
    return word(value) if isinstance(value, bool) else str(value)


def _path(setting: str) -> str:
    """A setting as its path."""
    return setting.replace("-", "_")


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
