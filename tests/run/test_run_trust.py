"""A run folder reaches nothing that its user did not allow: by type for every setting, and by trial for every verb."""

from __future__ import annotations

import dataclasses
import io
import json
import socket
import stat
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from of_methods import said
from small_runs import Reply, Shell, copy_of, make_model, train_line

import assay
from assay.cli.main import main
from assay.cli.verbs import VERBS
from assay.errors import ConfigError, UsageError
from assay.host.reach import PROGRAM, Address, mark_of, reached, reaching
from assay.known import PARTS, RECIPES
from assay.part import KINDS
from assay.policy import adapter_folder
from assay.record.folder import RunFolder
from assay.record.sinks import SINKS
from assay.run import allowed as kept
from assay.run.configure import to_data
from assay.run.experiment import Experiment, Machine
from assay.source import Pool, Share
from assay.verifiers.judges.endpoint import Endpoint

# --- every setting --------------------------------------------------------------------------------------------

HARMLESS = {
    "says what a recipe is, and is shown": """
        Recipe.name Recipe.title Recipe.paper Recipe.claim Recipe.notes Recipe.deviations Recipe.missing Recipe.tasks
        Stage.name""",
    "names a model, a role or a store of the recipe itself": """
        Recipe.models Recipe.roles Model.follows Rule.role Rule.moments AlsoAsk.roles AsRole.role AskJudge.of
        AskJudge.role AskPairs.of AskPairs.role CollectiveVote.voters Agreed.role Agreement.role Critic.model
        Follow.names Frozen.model Frozen.role KeepLeftovers.of Lagged.model Lagged.role LearntScore.critic
        LearntScore.model LearntSteps.model PosedOnce.role RankedPairs.extremes RankedPairs.roles RewardModel.critic
        RewardModel.model RewardModel.role ScoredBy.role StepSearch.model Untrained.but Untrained.role Harvest.name
        Rehearse.name""",
    "names a reward, a score, a tag or a metric of the run's records": """
        Affine.name Cascade.name Clipped.name Delta.name Gated.name HoldTagged.tag KeptRules.score Masked.name
        Misjudged.name Plateau.metric Product.name Saturated.name Scheduled.name Scored.name Shuffled.name Squashed.name
        StatisticsOnly.tag Sum.name Tagged.tag Threshold.metric Veto.name WithoutTag.tag""",
    "is text that is compared with an answer, or shown to a model": """
        ContinueSteps.marks FirstSteps.marks Fork.until JudgedByRubric.criteria JudgedByRubric.guards LearntSteps.marks
        RepeatedSteps.marks RewardModel.marks Chat.stop Chat.system Chat.variables""",
    "names a model behind an address, which has a type of its own": "Endpoint.model",
    "names tasks of the pool, which have a type of their own": "OfTasks.tasks",
    "names tools of the worlds of the pool": "Called.tools LimitCalls.tools",
    "names rows that are left out": "Pool.left_out",
    "names a device of this machine; others are refused": "Machine.device",
    "names layers of the model": "Lora.targets",
    "is JSON; the path of a file of JSON is read by the command that starts a run, and never by a resume": """
        Chat.examples Chat.tools""",
    "labels the run at a tracker, which has a type of its own": "Tracking.project Tracking.name",
}
"""Why a text among the settings reaches nothing -> the fields of which that is true; of their parts methods say it
(`TEXTS`). What is not here has a type of `assay.host.reach`, which says what it reaches.
"""


def leaves(kind: Any, place: str, seen: set[type]) -> Iterator[tuple[str, Any]]:
    """(Class.field, type) of all values below a type that are neither numbers nor choices and have no mark."""
    if get_origin(kind) is Annotated:
        if mark_of(kind) is None:
            yield from leaves(get_args(kind)[0], place, seen)
    elif kind in KINDS:
        for part in PARTS[kind].values():
            if part.__module__.startswith("assay."):
                yield from leaves(part, place, seen)
    elif dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if kind not in seen:
            seen.add(kind)
            hints = get_type_hints(kind, include_extras=True)
            for field in dataclasses.fields(kind):
                yield from leaves(hints[field.name], f"{kind.__name__}.{field.name}", seen)
    elif get_origin(kind) in (Union, types.UnionType, tuple, Mapping):
        for inner in get_args(kind):
            yield from leaves(inner, place, seen)
    elif get_origin(kind) is not Literal and kind not in (int, float, bool, types.NoneType, Ellipsis):
        yield place, kind


def test_every_text_among_the_settings_reaches_out_by_its_type_or_is_known_to_reach_nothing() -> None:
    found = dict(leaves(Experiment, "", set()))
    known = {*(name for names in HARMLESS.values() for name in names.split()), *said("TEXTS")}
    assert set(found.values()) == {str}, "another type of value: decide whether it reaches out"
    assert sorted(found.keys() - known) == [], "give it a type of assay.host.reach, or say here why it is harmless"
    assert sorted(known - found.keys()) == [], "there is no such field any more, or it has a type of assay.host.reach"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Machine(), []),
        (Machine(samplers="2", cluster="auto"), []),
        (Machine(samplers="http://a:1,http://b:2"), [("samplers", "http://a:1"), ("samplers", "http://b:2")]),
        (Machine(cluster="10.0.0.4:6379"), [("cluster", "10.0.0.4:6379")]),
        (Machine(sampler_python="/opt/python"), [("sampler_python", "/opt/python")]),
        (Endpoint(), []),
        (Endpoint(url="http://a:1/v1", model="m"), [("url", "http://a:1/v1")]),
        (Share("countdown"), []),
        (Share("gym:chain_sum"), []),
        (Share("data:/tmp/rows.jsonl"), []),
        (Share("data:owner/rows?held_out=owner/exam:test"), [("task", "owner/rows"), ("task", "owner/exam:test")]),
        (Share("judge:data:owner/rows"), [("task", "owner/rows")]),
    ],
    ids=str,
)
def test_what_a_value_reaches(settings: Any, expected: list[tuple[str, str]]) -> None:
    assert [(reach.field, reach.place) for reach in reached(settings)] == expected


def test_models_of_the_hub_reach_out_and_folders_and_bases_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("owner/here").mkdir(parents=True)
    Path("owner/file").touch()  # a file is no model, so that the Hub would be asked
    pool = Pool((Share("countdown", (3,)),))
    for model, hub in [("countdown", 0), ("owner/here", 0), (str(tmp_path), 0), ("owner/other", 1), ("owner/file", 1)]:
        assert len(reached(Experiment(RECIPES["grpo"], model, pool))) == hub, model


def test_settings_are_found_wherever_they_stand() -> None:
    """In a reward within a reward within a stage: a judge's address has the path that an option would have."""
    from assay.reward import Cascade, JudgedByReference

    judge = JudgedByReference(endpoint=Endpoint(url="http://a:1/v1"))
    mechanism = dataclasses.replace(RECIPES["grpo"].mechanism, reward=(Cascade(then=judge),))
    experiment = Experiment(dataclasses.replace(RECIPES["grpo"], mechanism=mechanism), "countdown", Pool(()))
    (reach,) = reached(experiment)
    assert (reach.field, reach.place) == ("recipe.mechanism.reward.0.then.endpoint.url", "http://a:1/v1")
    assert {found.field.rpartition(".")[2] for found in reaching(Experiment(RECIPES["grpo"], "", Pool(())))} == {
        *("model", "samplers", "sampler_python", "cluster", "rewards", "tools", "mcp", "sinks", "mlflow_uri", "command")
    }
    assert mark_of(Address) is not None and mark_of(tuple[Address, ...]) is mark_of(Address) and mark_of(str) is None


# --- every verb -----------------------------------------------------------------------------------------------


class Listener:
    """A service that accepts connections on the loopback, counts them and says nothing."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.count = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            connection.close()


@dataclasses.dataclass
class Trap:
    """What a stranger's run may name, and whether any of it was reached."""

    folder: Path
    listener: Listener
    sent: list[str]

    def __post_init__(self) -> None:
        script = f"#!/bin/sh\ntouch {self.mark}\n"
        for name, text in (("python.sh", script), ("evil.py", self.code), ("evilmodule.py", self.code)):
            (self.folder / name).write_text(text)
        (self.folder / "python.sh").chmod(0o755)

    @property
    def mark(self) -> Path:
        return self.folder / "owned"

    @property
    def code(self) -> str:
        return (
            f"import pathlib\npathlib.Path({str(self.mark)!r}).touch()\ndef near(completions, **rest): return [0.0]\n"
        )

    @property
    def reached(self) -> list[str]:
        return [*self.sent, *(["ran"] if self.mark.exists() else []), *(["connected"] if self.listener.count else [])]


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    monkeypatch.setenv("ASSAY_SAMPLER_SECRET", "x" * 40)  # without it no server is connected to at all
    sent: list[str] = []

    def note(what: str) -> Callable[..., Any]:
        def noted(*_: Any, **__: Any) -> Any:
            sent.append(what)
            raise ConfigError(f"{what} was reached")

        return noted

    folder = tmp_path / "trap"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which a file that is imported adds its folder
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))  # of a user who began none of these runs
    monkeypatch.setattr("assay.tasks.data.files._hub", note("data of the Hub"))
    monkeypatch.setattr("assay.policy.model_folder._download", note("a model of the Hub"))
    monkeypatch.setitem(SINKS, "wandb", ("wandb", note("a tracker")))
    made = Trap(folder, Listener(), sent)
    yield made
    made.listener.socket.close()


Plant = Callable[[dict[str, Any], Trap], None]


def _judge(experiment: dict[str, Any], trap: Trap) -> None:
    url = f"http://127.0.0.1:{trap.listener.port}/v1"
    judge = {"part": "judge-reference", "endpoint": {"url": url, "model": "m", "budget": 2.0}}
    experiment["recipe"]["mechanism"]["reward"] = [judge]


KINDS_OF_REACH: dict[str, tuple[str, str, Plant]] = {  # name -> (the field, what allows it, how it is planted)
    "program": (
        "machine.sampler_python",
        "code",
        lambda e, t: e["machine"].update(
            samplers="1", sampler="vllm", sampler_python=str(t.folder / "python.sh"), sampler_tensor=1
        ),
    ),
    "servers": (
        "machine.samplers",
        "addresses",
        lambda e, t: e["machine"].update(samplers=f"http://127.0.0.1:{t.listener.port}"),
    ),
    "cluster": (
        "machine.cluster",
        "addresses",
        lambda e, t: e["machine"].update(cluster=f"127.0.0.1:{t.listener.port}", learners=2),
    ),
    "judge": ("recipe.mechanism.reward.0.endpoint.url", "addresses", _judge),
    "tracker": ("tracking.sinks", "addresses", lambda e, t: e["tracking"].update(sinks=["wandb"])),
    "store": (
        "tracking.mlflow_uri",
        "addresses",
        lambda e, t: e["tracking"].update(sinks=["mlflow"], mlflow_uri=f"http://127.0.0.1:{t.listener.port}"),
    ),
    "code": ("rewards", "code", lambda e, t: e.update(rewards=[f"{t.folder / 'evil.py'}:near"])),
    "tools": ("tools", "code", lambda e, t: e.update(tools=[f"{t.folder / 'evil.py'}:near"])),
    "agent": ("agent.command", "code", lambda e, t: e["agent"].update(command=f"{t.folder / 'python.sh'} x")),
    "mcp program": ("mcp", "code", lambda e, t: e.update(mcp=[str(t.folder / "python.sh")])),
    "mcp address": ("mcp", "addresses", lambda e, t: e.update(mcp=[f"http://127.0.0.1:{t.listener.port}/mcp"])),
    "module": ("rewards", "code", lambda e, t: e.update(rewards=["evilmodule:near"])),
    "data": (
        "pool.shares.0.task",
        "addresses",
        lambda e, t: e.update(pool={"shares": [{"task": "data:owner/rows", "levels": [1]}], "wording": "natural"}),
    ),
    "model": ("model", "addresses", lambda e, t: e.update(model="owner/model")),
}

OF_VERBS: dict[str, list[str]] = {
    "train": ["train grpo --model {run} --task countdown:3 --steps 1 --dry-run"],
    "resume": ["resume {run} --steps 5 --quiet"],
    "sample": ["sample {run} C37=4 --max-new 2"],
    "chat": ["chat {run} --max-new 2"],
    "serve": ["serve {run}"],
    "eval": ["eval {run} --problems 2 --n 2", "eval {run} --problems 2 --n 2 --task countdown:3 --wording compact"],
    "bank": [
        "bank sample {run} --problems 2 --n 2 --into {out}.parquet --quiet",
        "bank parity {run} {run} --problems 2 --n 2 --quiet",
    ],
    "analyse": ["analyse {run} {run} --problems 4 --n 4 --into {out}.analysis --quiet"],
    "data": ["data check {out}.jsonl --model {run}"],
    "compare": ["compare {run}"],
    "plan": ["plan grpo --model {run} --gpus 2"],
    "export": ["export {run} {out}"],
    "extrapolate": ["extrapolate {run} {run}/ckpt/step-00000003 {run}/ckpt/step-00000004 --into {out} --to 3"],
    "transfer": ["transfer {run} {run} {run} --problems 2 --n 2"],
    "search": ["search {run} --problems 2"],
    "report": ["report {run}"],
    "doctor": ["doctor --model {run}"],
}
TAKE_NO_RUN = ("sweep", "claims", "list", "show", "explain", "base", "get", "new", "verify", "demo")
USES = {  # verb -> kinds that it uses of a run, if no option gives others
    "resume": tuple(KINDS_OF_REACH),
    **dict.fromkeys(("eval", "transfer"), ("data",)),
    **dict.fromkeys(("bank", "analyse"), ("data",)),
    "search": ("data", "model"),
}

OTHERWISE = {"extrapolate": 2, "search": 78}
"""Verb -> how it ends where nothing of its run may be used: nothing was learnt, no model stands beside the policy."""
TOGETHER = OTHERWISE | {"sample": 78}
"""The same where all kinds are planted in one run: tools of rows are refused before anything is sampled."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest")
    assert main([*train_line(make_model(folder / "model"), folder / "run"), "--quiet"]) == 0
    return folder / "run"


def planted(honest: Path, target: Path, trap: Trap, *kinds: str) -> Path:
    """A copy of a run, as a stranger would send it."""
    run = copy_of(honest, target)
    (run / "learnt.txt").unlink(missing_ok=True)  # as in runs of older versions, whose data are read again
    document = json.loads((run / "run.json").read_text())
    for kind in kinds:
        KINDS_OF_REACH[kind][2](document["experiment"], trap)
    (run / "run.json").write_text(json.dumps({**document, "run": "f" * 32}))
    return run


@contextmanager
def stopped() -> Iterator[threading.Event]:
    """A server that somebody stops as soon as it listens."""
    event = threading.Event()
    event.set()
    yield event


def told(shell: Shell, line: str, run: Path, out: Path) -> Reply:
    out.with_suffix(".jsonl").write_text('{"prompt": "1+1", "answer": "2"}\n' * 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("C37=4\n"))  # `assay chat` reads questions there
        patch.setattr("assay.cli.serve._until_stopped", stopped)
        return shell(*(word.format(run=run, out=out) for word in line.split()), "--json")


def test_every_verb_is_known_to_take_a_run_or_not_to() -> None:
    assert sorted([*OF_VERBS, *TAKE_NO_RUN]) == sorted(VERBS), (
        "say here how the verb is given a run, or that it takes none"
    )
    for verb in TAKE_NO_RUN:
        named = [str(options.get("metavar", "")) for _, options in VERBS[verb][1]()]
        assert not [name for name in named if "RUN" in name], f"{verb} takes a run"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS_OF_REACH)
def test_a_resume_reaches_nothing_that_a_stranger_named(
    kind: str, honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    field, consent, _ = KINDS_OF_REACH[kind]
    run, shell = planted(honest, tmp_path / "run", trap, kind), Shell(capsys)
    before = (run / "run.json").read_bytes()
    reply = told(shell, OF_VERBS["resume"][0], run, tmp_path / "out")
    message = reply.document["message"]
    assert reply.code == 78 and f"  {field} " in f"  {message.split(chr(10))[1]} ", message
    assert f"--trust-{consent}" in message and trap.reached == []
    assert (run / "run.json").read_bytes() == before
    other = {"code": "addresses", "addresses": "code"}[consent]
    assert told(shell, f"{OF_VERBS['resume'][0]} --trust-{other}", run, tmp_path / "out").code == 78
    assert trap.reached == [], "one kind of trust is not the other"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["program", "servers", "judge", "code", "tools", "agent", "module", "data", "model"])
def test_what_a_person_allows_is_reached(
    kind: str, honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the traps of the other tests might be none."""
    run = planted(honest, tmp_path / "run", trap, kind)
    told(Shell(capsys), f"{OF_VERBS['resume'][0]} --trust-{KINDS_OF_REACH[kind][1]}", run, tmp_path / "out")
    assert len(trap.reached) == 1


def require_untouched(
    verb: str, shell: Shell, run: Path, trap: Trap, used: str | None, ends: Mapping[str, int] = OTHERWISE
) -> None:
    """The verb refuses the kind of reach that it would use, and never looks at others."""
    for number, line in enumerate(OF_VERBS[verb] if used else OF_VERBS[verb][:1]):
        reply = told(shell, line, run, run.with_name(f"{run.name}-{number}"))
        assert trap.reached == [], line
        if used and "--task" not in line:
            field = KINDS_OF_REACH[used][0]
            assert reply.code == 78 and f"  {field} " in reply.document["message"].replace("\n", "  "), line
        else:
            assert reply.code == ends.get(verb, 0), f"{line}: {reply.out}"


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in OF_VERBS if verb != "resume"])
def test_no_verb_reaches_anything_that_a_stranger_named(
    verb: str, honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in USES.get(verb, ()):
        require_untouched(verb, Shell(capsys), planted(honest, tmp_path / kind, trap, kind), trap, kind)
    others = [kind for kind in KINDS_OF_REACH if kind not in USES.get(verb, ())]
    require_untouched(verb, Shell(capsys), planted(honest, tmp_path / "others", trap, *others), trap, None, TOGETHER)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS_OF_REACH)
@pytest.mark.parametrize("verb", [verb for verb in OF_VERBS if verb != "resume"])
def test_no_verb_reaches_any_one_thing_that_a_stranger_named(
    verb: str, kind: str, honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = kind if kind in USES.get(verb, ()) else None
    require_untouched(verb, Shell(capsys), planted(honest, tmp_path / kind, trap, kind), trap, used)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an adapter on `owner/model`, as one that began with a model of the Hub has it."""
    folder = tmp_path_factory.mktemp("adapted")
    with pytest.MonkeyPatch.context() as patch:
        place = partial(adapter_folder.put_on, place="owner/model")
        patch.setattr(adapter_folder, "put_on", lambda policy, lora, **how: place(policy, lora, key=how["key"]))
        line = train_line(make_model(folder / "model"), folder / "run")
        assert main([*line, "--lora.rank", "2", "--quiet"]) == 0
    return folder / "run"


@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in OF_VERBS if verb != "resume"])
def test_no_verb_downloads_the_model_below_a_strangers_adapter(
    verb: str, adapted: Path, honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copy_of(adapted, tmp_path / "run")
    document = json.loads((run / "run.json").read_text())
    document["experiment"]["model"] = json.loads((honest / "run.json").read_text())["experiment"]["model"]  # harmless
    (run / "run.json").write_text(json.dumps({**document, "run": "f" * 32}))
    for number, line in enumerate(OF_VERBS[verb]):
        reply = told(Shell(capsys), line, run, tmp_path / f"out{number}")
        assert trap.reached == [], line
        if verb in ("sample", "chat", "serve", "eval", "bank", "export", "transfer"):
            assert reply.code == 78 and "owner/model of the Hub" in reply.document["message"], line


@pytest.mark.slow
def test_an_adapter_that_is_named_may_download_its_base_and_its_run_may_again(
    adapted: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, run = Shell(capsys), copy_of(adapted, tmp_path / "run")
    adapter = max((run / "ckpt").glob("*/policy"))
    assert shell("sample", adapter, "C37=4", "--max-new", 2).code != 0
    assert trap.reached == ["a model of the Hub"]
    (reach,) = reached(Experiment(RECIPES["grpo"], str(adapter), Pool(())))
    assert (reach.field, reach.place) == ("model", "owner/model")
    (reach,) = reached(Experiment(RECIPES["grpo"], str(run), Pool(())))
    assert (reach.field, reach.place) == ("model", "owner/model")
    kept.allow(json.loads((run / "run.json").read_text())["run"], run, [kept.Allowed("model", "owner/model")])
    assert shell("sample", run, "C37=4", "--max-new", 2).code != 0
    assert trap.reached == ["a model of the Hub"] * 2


# --- what a user has allowed ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_may_give_a_setting_anew(
    honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The value of a setting that the command gives is the command's own, whatever the folder names."""
    run, shell = planted(honest, tmp_path / "run", trap, "servers"), Shell(capsys)
    assert shell("resume", run, "--steps", 5, "--quiet", "--machine.samplers", "").code == 0
    assert trap.reached == [] and json.loads((run / "run.json").read_text())["experiment"]["machine"]["samplers"] == ""
    reply = shell(
        "resume", run, "--quiet", "--machine.sampler-python", trap.folder / "python.sh", "--machine.samplers", 1
    )
    assert "vllm" in reply.err, "no question of trust: it is this command's own program, and a setting is wrong"
    with pytest.raises(UsageError, match=r"cannot change scale\.num_steps"):
        assay.resume(run, settings={"scale.num_steps": 9})
    with pytest.raises(UsageError, match="a resume cannot change model"):
        assay.resume(run, settings={"model": "owner/model"}, trust_addresses=True)


@pytest.mark.slow
def test_the_run_of_ones_own_is_resumed_without_a_question(
    honest: Path, trap: Trap, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, run = Shell(capsys), tmp_path / "run"
    monkeypatch.setitem(SINKS, "wandb", ("wandb", Silent))
    model = json.loads((honest / "run.json").read_text())["experiment"]["model"]
    assert shell(*train_line(Path(model), run), "--quiet", "--track", "wandb").code == 0
    records = list((tmp_path / "state" / "runs").iterdir())
    assert [stat.S_IMODE(path.stat().st_mode) for path in (*records, records[0].parent)] == [0o600, 0o700]
    assert shell("resume", run, "--steps", 5, "--quiet").code == 0
    moved = run.rename(tmp_path / "moved")
    assert shell("resume", moved, "--steps", 6, "--quiet").code == 0, "a folder may be moved"
    document = json.loads((moved / "run.json").read_text())
    document["experiment"]["machine"].update(samplers=f"http://127.0.0.1:{trap.listener.port}")
    (moved / "run.json").write_text(json.dumps(document))
    reply = shell("resume", moved, "--steps", 7, "--quiet")
    assert reply.code == 78 and "machine.samplers" in reply.err and "tracking" not in reply.err
    records[0].chmod(0o666)
    reply = shell("resume", moved, "--steps", 7, "--quiet", "--machine.samplers", "")
    assert reply.code == 78 and "tracking.sinks" in reply.err, "others could have written this record"


class Silent:
    def open(self, series: Any) -> None: ...
    def log(self, step: int, values: Mapping[str, float]) -> None: ...
    def close(self, ended: str) -> None: ...


def test_a_record_lies_where_the_id_of_a_run_cannot_lead_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    one = kept.Allowed("machine.sampler_python", "python", "/usr/bin/python")
    for name in ("../../evil", "", "f" * 31, "F" * 32):
        kept.allow(name, tmp_path, [one])
        assert kept.allowed(name) == frozenset()
    assert not (tmp_path / "state").exists()
    kept.allow("a" * 32, tmp_path, [one])
    assert kept.allowed("a" * 32) == {one} and kept.allowed("b" * 32) == frozenset()
    (tmp_path / "state" / "runs" / f"{'a' * 32}.json").write_text("[")
    assert kept.allowed("a" * 32) == frozenset() and "cannot be read" in capsys.readouterr().err


def test_a_program_is_known_by_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path, or a name that is looked up, may mean another program in another place."""
    from assay.run.trust import remember, require_trust

    def with_program(path: str) -> Experiment:
        return Experiment(RECIPES["grpo"], "countdown", Pool(()), machine=Machine(sampler_python=path))

    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    experiment = with_program("bin/python")
    with RunFolder.create(tmp_path / "run", identity={}) as folder:
        remember(folder, experiment)
        assert require_trust(folder, experiment) == frozenset()
        monkeypatch.chdir(tmp_path / "here")
        with pytest.raises(ConfigError, match=f"that is {tmp_path / 'here/bin/python'} here, and was {tmp_path}/bin"):
            require_trust(folder, experiment)
        inside = with_program(str(tmp_path / "run" / "python"))
        remember(folder, inside)
        with pytest.raises(ConfigError, match="lies in the run folder itself"):
            require_trust(folder, inside)
    assert reached(inside)[0].mark is PROGRAM and to_data(inside)["machine"]["sampler_python"].endswith("run/python")
