"""Training by an experiment whose model is loaded: in a new run folder, or on from a checkpoint."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.collect.hosts import Hosting, hosting
from assay.engine.footprint import as_data
from assay.errors import ConfigError, DataError, EndpointError, ProcessLost, Stopped, StorageError
from assay.host.terminal import say
from assay.memory import Memory, columns
from assay.models import Models
from assay.policy.kinds import tokenizer_of, words_of
from assay.policy.provenance import provenance_in
from assay.record.checkpoint import Checkpoint
from assay.record.folder import Numbered, RunFolder
from assay.record.panel import Panel, panel
from assay.record.signals import StopFlag
from assay.record.sinks import series_of, tracking
from assay.run import data_needs, external_needs, picture_needs, setup_file
from assay.run.before_weights import Prepared, prepare
from assay.run.callbacks import Watch
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.run.grader import Functions, Grader, sources
from assay.run.loading import load_model, open_models, policy_files, set_threads, with_adapter
from assay.run.memory_plan import require_memory
from assay.run.out_of_memory import exhausted, ran_out
from assay.run.own_tools import records_of_servers
from assay.run.setup import Setup
from assay.run.told_kernels import tell_kernels
from assay.run.trust import code_of, remember
from assay.run.worked_examples import Worked, worked
from assay.source import Pool
from assay.tasks import short
from assay.tasks.versions import verifier_versions

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.run.live_report import Page
    from assay.run.recorder import Exams, Recorder

IDENTITY = ("model", "pool", "seed", "profile")  # fields of the experiment that no resume may change


def ready_to_begin(experiment: Experiment, place: Path | Numbered, functions: Functions | None = None) -> Prepared:
    """The run after all checks that need no weights, with what is odd about it said."""
    prepared = prepare(experiment, place, functions)
    for line in (*prepared.notes, *prepared.doubts):
        say(f"  {line}")
    try:
        require_memory(prepared.memory)
    except ConfigError:
        prepared.grader.__exit__(None, None, None)
        raise
    return prepared


def begin(
    prepared: Prepared,
    policy: Policy,
    place: Path | Numbered,
    *,
    command: str = "",
    quiet: bool = False,
    shown: Panel | None = None,
    extra: Mapping[str, Any] | None = None,
    setup: Setup | None = None,
    watch: Watch | None = None,
) -> Path:
    """Trains this policy in a new run folder, and returns its path. `extra` holds further fields for run.json. The
    setup that the experiment follows from is kept in a file that repeats the run.
    """
    from assay.policy import fingerprint

    experiment = prepared.experiment
    beside = {} if setup is None else {setup_file.NAME: setup_file.repeating(setup, experiment)}
    provenance = provenance_in(policy.codec.files, experiment.model)
    path = place if isinstance(place, Path) else place.take()
    identity = {name: to_data(getattr(experiment, name)) for name in IDENTITY}
    identity |= {"recipe": experiment.recipe.name, "weights": fingerprint(policy)}
    identity |= data_needs.identity(experiment.pool)
    document = {
        "command": command,
        "python": f"assay.resume({str(path)!r})",
        "recipe": experiment.recipe.name,
        "task": [short(share.task) for share in experiment.pool.shares],
        "experiment": to_data(experiment),
        "rewards": sources(prepared.grader),
        "code": code_of((*experiment.rewards, *experiment.tools)),
        **({"mcp": servers} if (servers := records_of_servers(experiment)) else {}),
        "memory": None if prepared.memory is None else as_data(prepared.memory.budget),
        **({} if provenance is None else {"provenance": dataclasses.asdict(provenance)}),
        **({"externals": external_needs.versions(prepared.externals, {})} if prepared.externals else {}),
        "verifiers": external_needs.versions(verifiers_of(experiment.pool), {}),
        **(extra or {}),
    }
    folder = RunFolder.create(path, identity=identity, document=document, keep=experiment.saving.keep, beside=beside)
    with folder:
        remember(folder, experiment)
        how = {"quiet": quiet, "shown": shown, "grader": prepared.grader, "longest": prepared.longest, "watch": watch}
        carry_on(folder, experiment, policy, Memory(experiment.seed), **how)
    return path


def verifiers_of(pool: Pool) -> dict[str, str]:
    """The versions of the verifiers that check the answers to these problems."""
    return verifier_versions(share.task for share in pool.shares)


def tell_differences(folder: RunFolder, checkpoint: Checkpoint, place: str) -> None:
    """Warns of newer checkpoints that could not be used, and of libraries, a device or a machine that differ from those
    of the save. The differences are also kept in run.json, with the step from which they hold.
    """
    for sentence in checkpoint.rejected:
        say(f"warning: {sentence}")
    if changed := checkpoint.environment_changes(place):
        say(
            f"warning: not as at step {checkpoint.step}, which was saved with: {'; '.join(changed)}. The resumed run "
            "may differ in its last bits from a run without the stop."
        )
        folder.amend(resumed=[*folder.document.get("resumed", []), {"step": checkpoint.step, "changed": changed}])


def carry_on(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    memory: Memory,
    *,
    quiet: bool,
    shown: Panel | None,
    grader: Grader,
    checkpoint: Any = None,
    longest: int | None = None,
    watch: Watch | None = None,
) -> None:
    """Builds the models and trains, again from the last checkpoint whenever a process of the run is lost. `longest`:
    tokens of the longest prompt; None for a run that is resumed. `watch` are the callbacks of the calling program.
    """
    from assay.engine.choose import processor_of

    watch = watch or Watch()
    with watch.until_the_end(folder.path, lambda: len(folder.read("metrics"))), grader:
        set_threads(experiment.machine)
        if data_needs.files(experiment.pool) and folder.learnt() is None:
            folder.keep_learnt(data_needs.learnt(experiment.pool))
        policy = with_adapter(experiment, policy)
        if (words := words_of(policy.codec)) is not None and words.pictures is not None:
            picture_needs.keep(words.pictures, folder.path)
        restarts, begun = 0, memory.step  # restarts from one checkpoint, at least one after a loss; and its step
        while True:
            rest = {"quiet": quiet, "shown": shown, "grader": grader, "checkpoint": checkpoint, "longest": longest}
            rest |= {"watch": watch}
            try:
                with open_models(experiment, policy, folder.path) as models, processor_of(models["policy"]):
                    tell_kernels(folder, models)
                    _train(folder, experiment, policy, models, memory, **rest)
                break
            except ProcessLost as error:
                checkpoint, longest = folder.load(), None
                reached = 0 if checkpoint is None else checkpoint.step
                restarts, begun = (restarts if reached <= begun else 0), max(begun, reached)
                if restarts >= experiment.machine.restarts:
                    raise Stopped(
                        f"{str(error).rstrip('.')}, after {restarts} restarts from one checkpoint (machine.restarts); "
                        f"`assay resume {folder.path}` continues from it."
                    ) from error
                restarts += 1
                memory = back_to(folder, experiment, checkpoint)
                policy = with_adapter(experiment, load_model(experiment))  # engines have trained the one that they took
                say(f"warning: {str(error).rstrip('.')}. All processes are started again from step {memory.step}.")
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
                raise Stopped(exhausted(experiment, policy, folder)) from error
            except EndpointError as error:
                goes_on = "continues from the last checkpoint" if folder.store.steps() else "begins the run again"
                how = f"`assay resume {folder.path}` {goes_on}."
                if restarts:
                    raise Stopped(f"{error} {how}") from error
                if type(error) is EndpointError and "assay resume" not in str(error):
                    raise EndpointError(f"{error} {how}") from error
                raise


def _worked(experiment: Experiment, policy: Policy, exams: Exams, shown: Panel) -> Worked | None:
    """The exam with examples; None for a run without it, or whose context they do not fit into."""
    shots = experiment.evaluation.shots
    if not shots or experiment.chat.examples:
        return None
    exam = worked(tokenizer_of(policy, "evaluation.shots"), shots, experiment.pool, exams["test"])
    if (needed := exam.longest + experiment.recipe.scale.longest) <= policy.config.context:
        return exam
    shown.note(
        f"the exam with {shots} examples is left out: it needs {needed} positions, and the context has "
        f"{policy.config.context}."
    )
    return None


def back_to(folder: RunFolder, experiment: Experiment, checkpoint: Checkpoint | None) -> Memory:
    """The memory of a checkpoint. The records of later steps are cut off, because these steps are done again."""
    folder.rewind(checkpoint)
    if checkpoint is None:
        return Memory(experiment.seed)
    buffers = checkpoint.tensors(columns.FILE) if columns.FILE in checkpoint.names else {}
    return checkpoint.read("memory.json", lambda data: Memory.of(data, buffers))


def _restore(folder: RunFolder, checkpoint: Any, models: Models) -> None:
    """Gives the models the weights of a checkpoint."""
    from assay.run.recorder import counters_of

    tell_differences(folder, checkpoint, models["policy"].place)
    for name, counter in checkpoint.read("counters.json", counters_of).items():
        if name not in models:
            raise StorageError(f"{checkpoint.path} holds a model '{name}', which this recipe does not have.")
        models[name].restore(checkpoint.path, name, counter["version"])


@contextlib.contextmanager
def _kept_at_its_end(folder: RunFolder, recorder: Recorder, page: Page) -> Iterator[None]:
    """A run that is stopped, or cannot go on for a reason outside of its processes, saves a checkpoint. However it
    ends, the checkpoint that is being written is waited for, and the report is of its last step.
    """
    try:
        yield
    except ProcessLost:
        raise
    except (Stopped, DataError, EndpointError) as error:
        recorder.keep()
        if not isinstance(error, Stopped):
            raise
        raise Stopped(f"{str(error).split(';')[0]}; `assay resume {folder.path}` continues from there.") from error
    finally:
        folder.wait()  # the models that it is a copy of end with the caller's block
        page.now()


def _hosting(folder: RunFolder, experiment: Experiment) -> Hosting:
    """How worlds apart are run: their replies are logged in the run's folder until no checkpoint goes back to them."""
    machine = experiment.machine
    return Hosting(
        machine.replies,
        machine.reply_seconds,
        machine.hosts,
        folder.path / "replies",
        oldest=lambda: min(folder.store.steps(), default=0),
    )


def _train(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    models: Models,
    memory: Memory,
    *,
    quiet: bool,
    shown: Panel | None,
    grader: Grader,
    checkpoint: Any,
    longest: int | None,
    watch: Watch,
) -> None:
    from assay.assemble import assemble
    from assay.host.garbage import few_collections
    from assay.host.interrupt import asking
    from assay.loop import train
    from assay.run.live_report import Page
    from assay.run.lost_verdicts import LostVerdicts
    from assay.run.preflight import warn
    from assay.run.recorder import Recorder, exams
    from assay.run.second_look import SecondLook
    from assay.view.card import model_card
    from assay.view.report import write_report

    if checkpoint is not None:
        _restore(folder, checkpoint, models)
    codec = policy.codec
    stages = assemble(
        experiment.recipe,
        pool=experiment.pool,
        codec=codec,
        micro_tokens=experiment.machine.micro_tokens,
        verdicts=grader.verdicts(experiment.pool),
    )
    total = experiment.recipe.scale.num_steps
    title = f"{experiment.recipe.name} on {' '.join(short(share.task) for share in experiment.pool.shares)}"
    own = panel(total, quiet=quiet, title=title) if shown is None else contextlib.nullcontext(shown)
    with own as shown, StopFlag() as stop, asking(stop.check), few_collections():
        grader.tell(shown.note)
        if longest is not None:
            warn(folder, shown, experiment, policy, models, longest=longest, verify=grader)
        series = series_of(folder, experiment, memory.step, card=lambda: model_card(folder.path))
        with tracking(experiment.tracking.sinks, series, shown.note) as tracker:
            files, examined = policy_files(policy), exams(experiment)
            page = Page(lambda: write_report(folder.path, checked=False), shown.note)
            second = SecondLook(0.0 if experiment.rewards else experiment.evaluation.second_look, shown.note)
            second.remember(folder.read("metrics"))
            lost = LostVerdicts(shown.note)
            recorder = Recorder(
                folder,
                experiment,
                codec,
                files,
                examined,
                shown,
                stop,
                worked=_worked(experiment, policy, examined, shown) if memory.step == 0 else None,
                grader=grader,
                second=second,
                lost=lost,
                watch=watch,
                page=page,
                track=tracker.log,
            )
            with _kept_at_its_end(folder, recorder, page), hosting(_hosting(folder, experiment)):
                train(stages, models, memory, recorder)
        for failure in folder.failures:
            shown.note(f"warning: {failure}")
