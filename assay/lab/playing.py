"""`assay sample --task`: answers to one held-out problem of a task, turn by turn where its world replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UsageError
from assay.host.terminal import say
from assay.lab.sample import asked_with, check_sampling, exam, open_engine, sampling_of
from assay.record.turns import WORLD, as_records, with_texts
from assay.rng import Key
from assay.run.ancestry import origin
from assay.run.bases import BASES
from assay.run.own_tools import has_tools
from assay.scoring.bank import answer, questions
from assay.tasks import short, task
from assay.tasks.data import is_data
from assay.types import Problem

if TYPE_CHECKING:
    from assay.lab.asking import Asking
    from assay.run.grader import Grader
    from assay.source import Pool
    from assay.types import Episode, Verdict

SHOWN = 20  # steps of a walk in a world of numbers that a person is shown
Json = dict[str, Any]


def sample_problem(
    model: str,
    *,
    pool: Pool,
    grader: Grader,
    problem: int,
    count: int,
    max_new: int | None,
    temperature: float,
    top_p: float,
    seed: int,
    system: str | None = None,
) -> Json:
    """`count` answers to a held-out problem, the first of those that `assay eval` asks unless another number is given,
    with their verdicts and, where a world replies, with their turns.
    """
    if count < 1 or problem < 1:
        raise UsageError(f"--n and --problem must be at least 1, not {count} and {problem}.")
    check_sampling(max_new=max_new, temperature=temperature, top_p=top_p)
    policy, engine = open_engine(model, system=system)
    problems, max_new = exam(model, pool, policy, count=problem, split="test", max_new=max_new)
    if len(problems) < problem:
        raise UsageError(f"--problem {problem}: there are only {len(problems)} problems.")
    chosen = problems[problem - 1]
    sampling = sampling_of(model, policy.codec, max_new, temperature, top_p)
    requests = asked_with(model, policy.codec)(
        questions([chosen], samples=count, sampling=sampling, codec=policy.codec)
    )
    played = answer(engine, requests, key=Key(seed)("eval"), codec=policy.codec, verify=grader.exam)
    asked = {"task": chosen.task, "level": chosen.level, "problem": chosen.id, "prompt": chosen.prompt}
    return {**asked, "model": model, "answers": [_told(episode, policy.codec.decode) for episode in played]}


def sample_typed(
    asking: Asking,
    prompt: str,
    *,
    count: int,
    max_new: int | None,
    temperature: float,
    top_p: float,
    seed: int,
) -> Json | None:
    """`count` answers to a typed text, with their turns, of a model whose run had tools for its rows: it calls them
    here too. None for any other model.
    """
    run, model = origin(asking.model), asking.model
    rows = [] if run is None else [share.task for share in run.experiment.pool.shares if is_data(share.task)]
    if run is None or not rows or not has_tools(run.experiment):
        return None
    if count < 1:
        raise UsageError(f"--n must be at least 1, not {count}.")
    most = max_new or run.experiment.recipe.scale.max_new
    check_sampling(max_new=most, temperature=temperature, top_p=top_p)
    about = {"domain": "data", "provenance": "data", "wording": "natural", "level": 1}
    problem = Problem(rows[0], prompt, {"row": 0, "gold": None, "columns": {}}, prompt, **about)
    policy, engine = open_engine(model, system=asking.system)
    sampling = sampling_of(model, policy.codec, most, temperature, top_p)
    with asking.equipped(run.experiment.pool):
        asked = questions([problem], samples=count, sampling=sampling, codec=policy.codec)
        requests = asked_with(model, policy.codec)(asked)
        played = answer(engine, requests, key=Key(seed)("sample"), codec=policy.codec, verify=_unverified)
    answers = [_told(episode, policy.codec.decode) for episode in played]
    return {"task": rows[0], "level": 1, "problem": problem.id, "prompt": prompt, "model": model, "answers": answers}


def _unverified(episodes: Sequence[Episode]) -> list[Verdict | None]:
    """Nothing says whether an answer to a typed text is right."""
    return [None] * len(episodes)


def refuse_typed(model: str) -> None:
    """Refuses a typed text for a model that has learnt to be replied to: no world knows what a typed text asks about.
    Where only some of its tasks have a world, this is said.
    """
    tasks = _tasks_of(model)
    worlds = [short(name) for name in tasks if _has_world(name)]
    if not worlds:
        return
    why = f"nobody replies to a typed text, and the world of {worlds[0]} does to its own problems"
    if len(worlds) == len(tasks):
        raise UsageError(f"{why}: `assay sample {model} --task {worlds[0]}` plays one of them.")
    say(f"{why} (--task {worlds[0]})")


def _has_world(name: str) -> bool:
    try:
        return not is_data(name) and task(name).world is not None
    except AssayError:  # a run of a task that is not installed here still writes
        return False


def _tasks_of(model: str) -> list[str]:
    """The tasks that a run or a base was trained on; none where nothing is known."""
    run = origin(model)
    base = BASES.get(model) if run is None else None
    pool = run.experiment.pool if run is not None else base.pool if base is not None else None
    return [] if pool is None else list(dict.fromkeys(share.task for share in pool.shares))


def _told(episode: Episode, decode: Any) -> Json:
    verdict = episode.verdict
    old = episode.known("old")
    own = None if old is None else old[old == old]  # not those of tokens that others wrote
    told: Json = {
        "text": episode.text,
        "finish": episode.finish,
        "tokens": len(episode),
        "logp": None if own is None else float(own.sum()),
        "verdict": None if verdict is None else {"status": verdict.status, "kind": verdict.kind},
    }
    if verdict is not None and verdict.detail:
        told["verdict"] |= {"detail": verdict.detail}
    if (turns := as_records(episode, decode)) is not None:
        told["turns"] = with_texts(turns, episode.text)
    return told | ({"steps": _steps(episode)} if episode.paid else {})


def _steps(episode: Episode) -> list[Json]:
    """What was seen, done and earned in a world of numbers, step by step."""
    action, earned = episode.known("action"), episode.known("earned")
    done = episode.stream("ids") if action is None else action
    paid = [None] * len(episode) if earned is None else earned.tolist()
    rows = zip(episode.stream("seen").tolist(), done.tolist(), paid, strict=True)
    return [{"seen": seen, "action": act, "earned": value} for seen, act, value in rows]


def text(document: Mapping[str, Any]) -> str:
    """The answers for a person: each turn behind the name of its author."""
    answers = document["answers"]
    lines = [f"{short(document['task'])}, level {document['level']}, problem {document['problem']}"]
    lines += _block("asked", _plain(document["prompt"]))
    for number, one in enumerate(answers, start=1):
        lines += ["", f"answer {number} of {len(answers)}: {_outcome(one)}"]
        lines += _turns(one)
    return "\n".join(lines)


def _outcome(one: Mapping[str, Any]) -> str:
    verdict = one["verdict"]
    status = {"ok": "right", "fail": "wrong", "invalid": "no verdict"}
    told = "no verdict" if verdict is None else status[verdict["status"]]
    why = f" ({verdict['kind']})" if verdict and verdict["kind"] not in ("", "wrong") else ""
    detail = f", {verdict['detail']}" if verdict and verdict.get("detail") else ""
    logp = "" if one["logp"] is None else f", log-prob {one['logp']:.3f}"
    unit = "steps" if "steps" in one else "tokens"
    return f"{told}{why}{detail}, {one['tokens']} {unit}{logp}"


def _turns(one: Mapping[str, Any]) -> list[str]:
    if "steps" in one:
        return _walk(one["steps"])
    if "turns" not in one:
        return _block("policy", one["text"])
    lines: list[str] = []
    for turn in one["turns"]:
        if turn["reads"] is not None:
            lines += _block("reads anew", turn["reads"])
        earned = "" if turn["earned"] is None else f"   [earned {turn['earned']:+g}]"
        failed = "   [an error of the policy]" if turn["failed"] else ""
        author = "reply" if turn["author"] == WORLD else turn["author"]
        lines += _block(author, f"{turn['text']}{failed}{earned}")
    return lines


def _walk(steps: list[Json]) -> list[str]:
    rows = [
        f"  {i:>4}  seen {_numbers(step['seen'])}  did {_numbers(step['action'])}  earned {_numbers(step['earned'])}"
        for i, step in enumerate(steps[:SHOWN], start=1)
    ]
    return [*rows, f"  ... {len(steps) - SHOWN} more steps"] if len(steps) > SHOWN else rows


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_numbers, value))})"
    return "-" if value is None else f"{value:.4g}"


def _block(label: str, words: str) -> list[str]:
    """Words behind a label; further lines stand below the first."""
    first, *more = words.split("\n")
    return [f"  {label:<12}{first}", *(f"  {'':<12}{line}" for line in more)]


def _plain(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(f"{m['role']}: {m['content']}" for m in prompt)
