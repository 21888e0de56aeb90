"""What tests over all parts know of those of methods: each says it in `tests/methods/GROUP/NAME/parts.py`, as data.

    SMALL = {"ask:first-steps": {"width": 2}}             values at which a part works in a run of a few rows
    ALONG = {"expand:step-search": ("ask:first-steps",)}  what a part has nothing to work on without
    IDLE = {"expand:fork": {"places": 0}}                 values at which it changes nothing, in groups of four
    BUSY = ("curate:no-training",)                        it has no such values: it is what the method is
    LAST = {"ask:first-steps": "why"}                     it is asked behind all other parts of its slot
    OWN_MODELS = {"forwards:critic": "which"}             the recipe must have models for it
    KEEPS = {"remember:harvest": "harvest"}               its store, as checkpoints of earlier versions name it
    FEWER = {"curate:pairs": "why"}                       behind a choice of groups others train than the chosen ones
    GOES_ON = {"ask:demonstrate": "why"}                  it needs solutions; where posed problems lack them, it runs
    LATE = {"credit:score": (2, "the words")}             so many parts make rewards that it may refuse in these words
    HELPED = {"ask:hinted": True}                         it changes questions, and whether that helps
    BARE = {"remember:keep-examined": {}}                 values at which it keeps answers, but none that had a hint
    OF_ITS_OWN = {"reward:learnt-score": "what"}          it reads of other episodes no judgement that a role wrote
    JUDGED = {"reward:a": ("answers", "judge", "2")}      what this role compares for it, and the worst judgement
    MARKED = {"reward:a": ("steps", ("+-#0", "++#1"), "--#0")}  two judgements that mark answers so, and the worst one
    ENDPOINTS = {"reward:judge-pairs": {}}                values at which it asks a judge behind an endpoint
    COLUMNS = {"rules": ["It is a tree."]}                of a row of data, for such a reward
    FREE = {"role": "what it names"}                      field whose text is a name of something, not one of a list
    TEXTS = {"Part.field": "what it names"}               text of a setting that reaches nothing outside of the run

    SMALLER = {"grpo": "why"}                             of a recipe: not every group has as many answers as a group
    CHOOSES = {"dapo": "groups"}                          of four answers it leaves out the group, or rows
    FOUR = {"grpo": [1.0, None, 0.0, 0.0]}                rewards of four answers of which the first trains
    ROUNDS = {"grpo": {"group_size": 8}}                  later rounds of a step go on from what earlier ones wrote
    ANEW = {"grpo": "why"}                                later rounds do not
    FINE = {"gspo": "why"}                                rounding decides which tokens have a gradient

    OPEN = ("ttrl",)                                        recipes that train on rows without a reference answer
    OPEN_FILE = {"verif": 64}                               what `data check` answers on such rows, one with no column
    UNREADABLE = {"verif": [("soft", "kind", "a list")]}    (column, value, words by which the row is refused)
    SCORED = {"verif": [["scored", "product"]]}             the rewards of each mechanism beside a user's function
    GROWS = {"ask:budget": [({"high": 9}, " [=9]")]}        (values, what the part adds to a prompt) (fitting.py)
    BUFFERS = {"rlep": 4}                                   of the overlong penalty, where answers have 24 tokens
    TAUGHT = ("questa",)                                    recipes that refuse rows without worked solutions
    BRINGS = {"gmpo": ("`gate` geometric",)}                what its row in the documentation says of its parts
    HINTED = ("guide",)                                     recipes that show worked solutions where rows have them
    COMPONENTS = {"x1": {"structure": "tree"}}              what it is made of (assay/lab/blueprint.py)
    USED_BY = {"ask:budget": ["l1-exact", "l1-max"]}        the recipes in which the part stands
    SEEING_ROWS = {"gate:geometric": True}                  a gate that reads whole rows: whether it is `off_policy`
    FORMERLY = ("unpaid",)                                  earlier names of its parts
    REFUSED = {"train passk ...": (78, "words", "more")}    exit code of the command, and words of its error
    HERE_AS = {"len-l1": "l1-exact"}                        another name -> the first recipe of what it means
    PAPERS = {"without verifiers": ["rlpr"]}                words -> the papers that `list papers` finds by them
    NEAR = {"grppo": "Did you mean 'gppo'"}                 what is told of words by which it finds no paper
    BESIDE = {"len-dapo": "dapo"}                           a recipe whose paper is another method's
    NEEDS = {"j1": ("a model that reads English",)}         what its command needs beside an installation
    OWN_JUDGE = ("rubric-anchors-role",)                    recipes whose judge is a role of the run
    CHATS = ("cure",)                                       recipes of several stages whose trained policy is asked
    PICTURES = ("wemath2",)                                 recipes whose runs on pictures are stopped and go on
    SHARDED = ("areal",)                                    recipes whose runs lose a rank of several and go on
    TRL = ("kto",)                                          recipes whose gradients are compared with TRL's
    ELSEWHERE = {"reward:steady": "a model"}                what a reward needs beside answers
    WITHOUT_VERDICT = {"reward:steps": "its own marks"}     looks at verdicts and works without: at what it looks there

A part without a line is as it is by default, alone, and no hook. `oracle.py` there says what its paper says of a step
(tests/oracles.py). All of this may stand in the tests themselves where these have one file, beside their `ORACLES`.
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assay.known import METHOD_OF, SLOTS
from assay.part import Part

FOLDER = Path(__file__).parent / "methods"
SAID = sorted(path for name in ("parts", "oracle", "learns") for path in FOLDER.glob(f"*/*/{name}.py"))
SAID += sorted(path for path in FOLDER.glob("*/*/test_*.py") if "\nORACLES = " in path.read_text())


@cache
def _all() -> tuple[dict[str, Any], ...]:
    return tuple(runpy.run_path(str(path)) for path in SAID)


def said(table: str) -> dict[str, Any]:
    """Of all methods, what one table says: by `slot:name`, or by recipe."""
    return {place: value for one in _all() for place, value in dict(one.get(table, {})).items()}


def named(table: str) -> set[str]:
    """Of all methods, what one list names."""
    return {place for one in _all() for place in one.get(table, ())}


def folder_of(recipe: str) -> Path:
    """Where the tests of its method stand."""
    return FOLDER / METHOD_OF[recipe].removeprefix("assay.methods.").replace(".", "/")


def busy() -> set[str]:
    return named("BUSY")


def make(place: str, **values: Any) -> Any:
    """The part `slot:name` with these values, the others being its defaults."""
    slot, _, name = place.partition(":")
    return SLOTS[slot][name](**values)


def made(table: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Part]]:
    """Each part of a table with its slot."""
    return [(place.partition(":")[0], make(place, **values)) for place, values in table.items()]
