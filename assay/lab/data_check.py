"""`assay data check`: inspects data files before training.

It reports lengths of prompts, repeated rows, overlap with held-out rows, reference answers, rewards, and problems of
the chat template.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ConfigError, DataError
from assay.lab.data_verified import lines_of, verified
from assay.prompt import text_asked, text_of
from assay.recipe import Recipe
from assay.run.open_rows import Readers
from assay.tasks.data.answers import NO_ANSWER, no_gold, troubles_of
from assay.tasks.data.rows import SHOWN, Table, plain_prompt
from assay.tasks.data.task import Places, data, rows_of, tables
from assay.tasks.task import SPLITS
from assay.types import Problem
from assay.verifiers.functions.process import SECONDS

if TYPE_CHECKING:
    from assay.policy import Tokenizer

Json = dict[str, Any]
_BLOCKS = ("```", "block of code", "code block")  # words by which a prompt asks for a program
_MARKS = ("\\boxed", "####", "answer:", "final answer", "<answer>")  # words by which a prompt asks for a marked answer


@dataclass(frozen=True)
class Reader:
    """The tokenizer, the end tokens and the context of a model: all that is needed to measure prompts."""

    tokenizer: Tokenizer
    end_ids: frozenset[int]
    context: int


def check_data(
    place: Places,
    *,
    held_out: Places | None = None,
    model: str | None = None,
    recipe: Recipe | None = None,
    reward: str | None = None,
    reward_timeout: float = SECONDS,
    system: str = "",
    **reading: Any,
) -> Json:
    """Inspects one file, or several files that form one set; returns JSON data.

    found = check_data("problems.jsonl", model="Qwen/Qwen2.5-0.5B-Instruct", answer_column="solution")
    print(text(found))

    `system` is the system message of prompts that have none of their own. With `recipe` the check says which rows this
    recipe can reward. `reading` says how the rows are read.
    """
    name = data(place, held_out=held_out, **reading).name
    table, *others = tables(name)
    columns = {"prompt": table.columns.prompt, "answer": table.columns.answer, "solution": table.columns.solution}
    report: Json = {
        "file": table.place,
        "files": list(table.places),
        "rows": table.num_rows,
        "problems": len(table.problems),
        "columns": {**columns, "others": list(table.columns.others), "tests": table.columns.tests},
        "solved": sum(bool(problem.solution) for problem in table.problems),
        "notes": list(table.notes),
        "splits": {split: len(rows_of(name, split)) for split in SPLITS},
        "lengths": _lengths(table.problems, None if model is None else reader_of(model, system)),
        "repeats": _repeats(table),
        "overlap": _overlap(table, others[0]) if others else None,
        "answers": _answers(table.problems),
        "judged": None if recipe is None else _rewarded(recipe, [table, *others], scored=reward is not None),
        "marks": sum(_marked(problem, system) for problem in table.problems),
        "reward": None if reward is None else _rewards(table.problems, reward, reward_timeout),
    }
    return report


def reader_of(model: str, system: str = "") -> Reader:
    """The reader of a model, which does not load its weights; `system` is the system message of the prompts."""
    reader = _reader_of(model)
    if not system:
        return reader
    chat = dataclasses.replace(reader.tokenizer.chat, system=system)
    return dataclasses.replace(reader, tokenizer=reader.tokenizer.speaking(chat))


def _reader_of(model: str) -> Reader:
    from assay.policy import load_policy, load_tokenizer
    from assay.policy.hf_config import read_json
    from assay.policy.kinds import tokenizer_of
    from assay.policy.model_folder import id_list
    from assay.run.base_training import ready

    folder = Path(ready(model))
    described = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    if not isinstance(context := described.get("max_position_embeddings"), int):
        policy = load_policy(str(folder) if folder.is_dir() else model)
        return Reader(tokenizer_of(policy, "assay data check"), policy.end_ids, policy.config.context)
    tokenizer = load_tokenizer(folder)
    return Reader(tokenizer, tokenizer.end_ids | frozenset(id_list(described, "eos_token_id")), context)


# Lengths and templates


def _lengths(problems: Sequence[Problem], reader: Reader | None) -> Json:
    """The lengths of the prompts, in tokens if there is a reader, else in characters."""
    if reader is None:
        lengths = [(len(_text(problem)), problem) for problem in problems]
        return {"unit": "characters", **_spread(lengths)}
    lengths, refused, unopened, forged = [], [], [], []
    for problem in problems:
        try:
            ids = reader.tokenizer.render(problem.prompt)
        except DataError as error:
            refused.append({"row": problem.spec["row"], "why": str(error)})
            continue
        lengths.append((len(ids), problem))
        if reader.tokenizer.template is not None and not _opened(ids.tolist(), problem, reader):
            unopened.append(problem.spec["row"])
        if _holds_special(problem, reader.tokenizer):
            forged.append(problem.spec["row"])
    return {
        "unit": "tokens",
        "context": reader.context,
        **_spread(lengths),
        "too_long": sum(length >= reader.context for length, _ in lengths),
        "template": reader.tokenizer.template is not None,
        "refused": {"count": len(refused), "rows": refused[:SHOWN]},
        "no_generation_prompt": _listed(unopened),
        "special_tokens": _listed(forged),
    }


def _spread(lengths: Sequence[tuple[int, Problem]]) -> Json:
    if not lengths:
        return {}
    values = np.array([length for length, _ in lengths])
    longest = max(lengths, key=lambda pair: pair[0])[1]
    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "p95": float(np.percentile(values, 95)),
        "max": int(values.max()),
        "longest": longest.spec["row"],
    }


def _opened(ids: Sequence[int], problem: Problem, reader: Reader) -> bool:
    """Whether the template opens the assistant's turn: whether more than end tokens follows the last message."""
    name = reader.tokenizer.backend.id_to_token
    rendered = reader.tokenizer.backend.decode(list(ids), skip_special_tokens=False)
    last = text_asked(problem.prompt)
    _, known, rest = rendered.rpartition(last.strip())
    for end in reader.end_ids:
        rest = rest.replace(name(end) or "", "")
    return not known or bool(rest.strip())


def _holds_special(problem: Problem, tokenizer: Tokenizer) -> bool:
    """Whether the text of the problem spells special tokens, which only a chat template should write."""
    ids = tokenizer.backend.encode(_text(problem), add_special_tokens=False).ids
    return any(token in tokenizer.special_ids for token in ids)


def _text(problem: Problem) -> str:
    return (
        problem.prompt if isinstance(problem.prompt, str) else "\n".join(text_of(m["content"]) for m in problem.prompt)
    )


def _marked(problem: Problem, system: str) -> bool:
    """Whether the prompt or its system message says how to mark the final answer, or to write a block of code."""
    if problem.spec.get("ruled"):
        return True  # the whole answer is verified
    prompt = problem.prompt
    own = "" if isinstance(prompt, str) else " ".join(text_of(m["content"]) for m in prompt if m["role"] == "system")
    marks = _BLOCKS if problem.spec.get("tests") else _MARKS
    return any(mark in text for mark in marks for text in (plain_prompt(problem), (own or system).casefold()))


# Repeats and overlap


def _repeats(table: Table) -> Json:
    """Repeated rows: equal ones, those whose prompts differ only in spaces and case, and those that contradict."""
    alike: dict[str, list[Problem]] = {}
    for problem in table.problems:
        alike.setdefault(plain_prompt(problem), []).append(problem)
    several = [group for group in alike.values() if len(group) > 1]
    contradicting = [group for group in several if len({problem.spec["gold"] for problem in group}) > 1]
    return {
        "exact": _listed(table.repeats),
        "alike": _listed([problem.spec["row"] for group in several for problem in group[1:]]),
        "contradicting": _listed([problem.spec["row"] for group in contradicting for problem in group]),
    }


def _overlap(table: Table, other: Table) -> Json:
    """The rows of the file whose prompts are also in the held-out file."""
    texts = {_text(problem) for problem in other.problems}
    plain = {plain_prompt(problem) for problem in other.problems}
    return {
        "file": other.place,
        "rows": other.num_rows,
        "exact": _listed([p.spec["row"] for p in table.problems if _text(p) in texts]),
        "alike": _listed([p.spec["row"] for p in table.problems if plain_prompt(p) in plain]),
        "notes": list(other.notes),
        "repeats": _repeats(other),
    }


def _listed(rows: Iterable[int | str]) -> Json:
    rows = list(rows)
    return {"count": len(rows), "rows": rows[:SHOWN]}


# Answers and rewards


def _answers(problems: Sequence[Problem]) -> Json:
    """Reference answers that are missing, that cannot be read, and that a carelessly written answer would not match.

    A carelessly written answer is the reference answer without something that does not matter, such as a unit.
    """
    from assay.verifiers.mathematics.golds import lost

    golds = [problem for problem in problems if problem.spec["gold"] is not None]
    missing = _listed(problem.spec["row"] for problem in problems if problem.spec["gold"] is None)
    try:
        troubles = dict(zip([problem.id for problem in golds], troubles_of(golds), strict=True))
        sound = [problem for problem in golds if troubles[problem.id] is None and not _by_code(problem)]
        careless = lost([problem.spec["gold"] for problem in sound])
    except ConfigError as error:
        nothing = {"unreadable": {"count": None, "rows": []}, "careless": {"count": None, "rows": []}, "judges": None}
        return {"given": len(golds), "missing": missing, **nothing, "why": str(error)}
    bad = [
        {**_gold_of(problem), "why": trouble.why} for problem in golds if (trouble := troubles[problem.id]) is not None
    ]
    unknown = [{**_gold_of(sound[i]), "without": what, "as": text[:80], "why": why} for i, what, text, why in careless]
    return {
        "given": len(golds),
        "missing": missing,
        "unreadable": {"count": len(bad), "rows": bad[:SHOWN]},
        "careless": {"count": len({row["row"] for row in unknown}), "rows": unknown[:SHOWN]},
        "judges": verified(problems, [troubles.get(problem.id, NO_ANSWER) for problem in problems]),
    }


def _by_code(problem: Problem) -> bool:
    """Whether answers are verified by tests or rules, and not compared with a reference answer."""
    return bool(problem.spec.get("tests") or problem.spec.get("ruled"))


def _rewarded(recipe: Recipe, read: Sequence[Table], *, scored: bool) -> Json:
    """Which rows a recipe cannot reward, and why, as `assay train` would say."""
    readers = Readers(recipe)
    lost = [(table, found) for table in read if (found := readers.refused(table, scored=scored))]
    return {
        "recipe": recipe.name,
        "refused": {"count": sum(len(found.rows) for _, found in lost), "rows": [r for _, f in lost for r in f.rows]},
        "why": [str(found.refusal(table)) for table, found in lost],
        "idle": [] if scored or lost else [line for table in read for line in readers.idle(table)],
        "verdicts": any(readers.verdict(row) for table in read for row in table.problems),
    }


def _gold_of(problem: Problem) -> Json:
    return {"row": problem.spec["row"], "gold": problem.spec["gold"][:80]}


def require_usable(found: Mapping[str, Any], *, skips: bool = False) -> None:
    """Raises DataError for a file that `assay train` would refuse: if rows cannot be rewarded, or if a prompt does not
    fit into the context of the model that was named and bad rows are not skipped. Few rows are no fault, because they
    may be those of a held-out file.
    """
    _require_rewarded(found)
    if (long := found["lengths"].get("too_long", 0)) and not skips:
        raise DataError(
            f"{long} prompts of {found['file']} do not fit into the context of {found['lengths']['context']} tokens, "
            "and `assay train` refuses them. Shorten them, leave them out with --skip-bad-rows, or take a model with a "
            "longer context."
        )


def _require_rewarded(found: Mapping[str, Any]) -> None:
    """DataError if the recipe cannot reward some rows; if no recipe was named, or one that reads verdicts, also if
    there is a column of reference answers and none of them can be read.
    """
    answers, rewarded = found["answers"], found["judged"]
    if rewarded is not None and rewarded["why"]:
        raise DataError(" ".join(rewarded["why"]))
    if rewarded is not None and not rewarded["verdicts"]:
        return
    if found["reward"] is None and found["columns"]["answer"] and answers["given"] == answers["unreadable"]["count"]:
        raise no_gold(found["file"], found["columns"]["answer"], answers["unreadable"]["rows"])


def _rewards(problems: Sequence[Problem], reward: str, timeout: float) -> Json:
    """The scores of a reward function for right answers: the row's worked solution, or else its reference answer."""
    from assay.run.grader import answered, grader

    asked = [problem for problem in problems if problem.spec["gold"] is not None or problem.solution]
    if not asked:
        raise DataError(f"{reward} cannot be tried: no row has an answer or a worked solution.")
    with grader([reward], timeout=timeout) as grade:
        verdicts = [verdict for verdict in grade([answered(problem) for problem in asked]) if verdict is not None]
    (name,) = verdicts[0].scores
    scores = [verdict.scores[name] for verdict in verdicts]
    numbers = [score for score in scores if score is not None]
    top = max(numbers, default=0.0)
    low = [p.spec["row"] for p, score in zip(asked, scores, strict=True) if score is not None and score < top]
    return {
        "name": name,
        "asked": len(asked),
        "none": len(scores) - len(numbers),
        "values": {f"{value:g}": count for value, count in sorted(Counter(numbers).items())[:SHOWN]},
        "mean": float(np.mean(numbers)) if numbers else None,
        "below_best": _listed(low),
    }


# For people


def text(found: Mapping[str, Any]) -> str:
    """The findings as lines for a person; lines that call for action begin with an exclamation mark."""
    columns, splits = found["columns"], found["splits"]
    others = ", ".join(columns["others"]) or "-"
    lines = [
        f"{found['file']}: {found['rows']} rows, {found['problems']} problems",
        f"  columns      prompt '{columns['prompt']}', answer {_quoted(columns['answer'])}, "
        f"worked solution {_worked(found)}; for reward functions: {others}",
        f"  splits       {splits['train']} to train on, {splits['valid']} to evaluate on during training, "
        f"{splits['test']} to test on",
        *_split_lines(splits),
        *[f"! {note}" for note in found["notes"]],
        *_length_lines(found["lengths"]),
        *_repeat_lines(found["repeats"]),
        *_overlap_lines(found["overlap"]),
        *_answer_lines(found),
    ]
    if (reward := found["reward"]) is not None:
        values = ", ".join(f"{count} x {value}" for value, count in reward["values"].items())
        lines.append(
            f"  reward       {reward['name']} of {reward['asked']} right answers: {values or 'None throughout'}"
        )
        lines += _warned(reward["below_best"], "right answers earn less than the best of them", prefix="  ")
        if reward["none"]:
            lines.append(f"! {reward['none']} right answers get None, which means that the function gives no score")
    return "\n".join(lines)


def _split_lines(splits: Mapping[str, int]) -> list[str]:
    empty = [split for split, count in splits.items() if not count]
    if not empty:
        return []
    said = f"! none falls into '{empty[0]}': training on this alone is refused"
    return [f"{said}; add rows, or give held-out rows in a file of their own with --eval-data"]


def _worked(found: Mapping[str, Any]) -> str:
    """Where worked solutions stand: in a column of their own, or before the marked answers of the answer column."""
    columns, solved = found["columns"], found["solved"]
    if columns["solution"] is not None or not solved:
        return _quoted(columns["solution"])
    return f"of {solved} rows in '{columns['answer']}', before the answer"


def _quoted(name: str | None) -> str:
    return "none" if name is None else f"'{name}'"


def _warned(listed: Json, what: str, *, prefix: str = "! ") -> list[str]:
    if not listed["count"]:
        return []
    rows = listed["rows"]
    shown = ", ".join(str(row["row"] if isinstance(row, dict) else row) for row in rows)
    return [f"{prefix}{listed['count']} {what}: rows {shown}{' ...' if listed['count'] > len(rows) else ''}"]


def _length_lines(found: Json) -> list[str]:
    lines = []
    if "max" in found:
        spread = f"min {found['min']}, median {found['median']:g}, 95 % {found['p95']:g}, max {found['max']}"
        of = f" of {found['context']}" if "context" in found else ""
        lines.append(f"  prompts      {spread} {found['unit']}{of}; the longest is row {found['longest']}")
    if found["unit"] == "characters":
        return lines
    if not found["template"]:
        lines.append("  template     none: a prompt of plain text is read unchanged")
    if found["too_long"]:
        lines.append(f"! {found['too_long']} prompts do not fit into the context")
    lines += _warned(found["refused"], "prompts that the tokenizer or its template refuses")
    lines += [f"    row {row['row']}: {row['why']}" for row in found["refused"]["rows"][:3]]
    lines += _warned(
        found["no_generation_prompt"], "prompts do not open the assistant's turn: correct the chat template"
    )
    return lines + _warned(found["special_tokens"], "prompts spell special tokens of the tokenizer")


def _repeat_lines(found: Json) -> list[str]:
    lines = _warned(found["alike"], "prompts differ from an earlier one only in spaces or case")
    lines += _warned(found["contradicting"], "rows ask the same and give different answers")
    return lines or ["  repeats      no others than those named above"]


def _overlap_lines(found: Json | None) -> list[str]:
    if found is None:
        return []
    lines = [f"  held out     {found['rows']} rows of {found['file']}", *[f"! {note}" for note in found["notes"]]]
    what = f"rows are also held out ({found['exact']['count']} word for word), and are not trained on"
    return lines + (_warned(found["alike"], what) or ["  overlap      none"])


def _rewarded_lines(rewarded: Json) -> list[str]:
    if rewarded["why"]:
        return [f"! {why}" for why in rewarded["why"]]
    by = "the verifier" if rewarded["verdicts"] else "no reference answer is read"
    return [f"  rewarded     all rows, under {rewarded['recipe']}: {by}", *[f"! {line}" for line in rewarded["idle"]]]


def _answer_lines(found: Mapping[str, Any]) -> list[str]:
    answers = found["answers"]
    unread = answers["unreadable"]["count"]
    lines = [f"  answers      {answers['given']} given" + (f"; {answers['why']}" if unread is None else "")]
    if found["judged"] is None:
        lines += _warned(
            answers["missing"], "rows without an answer: they need a reward function, or a recipe with a judge"
        )
    else:
        lines += _rewarded_lines(found["judged"])
    if answers["judges"] and found["reward"] is None and (found["judged"] is None or found["judged"]["verdicts"]):
        lines += list(lines_of(answers["judges"]))
    lines += [f"! {unread} answers that the verifier cannot read:"] if unread else []
    lines += [f"!   row {row['row']}: {row['gold']!r}: {row['why']}" for row in answers["unreadable"]["rows"]]
    if answers["careless"]["count"]:
        count = answers["careless"]["count"]
        lines.append(f"! {count} answers that the verifier no longer recognises if a part is left out:")
    lines += [
        f"!   row {row['row']}: {row['gold']!r} without {row['without']}, {row['as']!r}: {row['why']}"
        for row in answers["careless"]["rows"]
    ]
    if not found["marks"] and found["columns"]["tests"]:
        lines.append("! no prompt asks for a block of code: add --system 'Answer with one block of code in Python.'")
    elif answers["given"] and not found["marks"]:
        lines.append("! no prompt says how to mark the final answer: add --system 'Put the final answer in \\boxed{}.'")
    return lines
