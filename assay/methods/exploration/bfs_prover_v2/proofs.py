"""The corpus of proofs: the shortest that the searches found of each theorem, with how likely its tactics were."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask.rehearse import rehearse
from assay.memory.episodes import bare
from assay.part import Asking, Curator, Proportion, Remembering
from assay.types import Episode, Origin, Row

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "proofs"


def tactics_of(origin: np.ndarray) -> list[np.ndarray]:
    """The places of the tokens of each tactic: what the policy wrote between two replies."""
    own = np.flatnonzero(origin == Origin.POLICY)
    cuts = np.flatnonzero(np.diff(own) > 1) + 1
    return np.split(own, cuts) if len(own) else []


def surprisals(episode: Episode) -> list[float]:
    """The mean -log pi(token) of each tactic, under the policy that wrote it: the logarithm of its perplexity."""
    logp = episode.stream("old").astype(np.float64)
    return [float(-logp[places].mean()) for places in tactics_of(episode.stream("origin"))]


def keep_proofs(memory: Memory, *, episodes: Sequence[Episode], anew: bool, place: str) -> Memory:
    """The memory with the shortest proof of each theorem that this step proved, unless it holds a shorter one of an
    earlier step. `anew`: a proof of an earlier stage gives way in any case; that of a theorem which is not proved any
    more stays.
    """
    held = {episode.request.problem.id: episode for episode in memory.kept.get(place, ())}
    about = dict(memory.store(place))
    for episode in episodes:
        if episode.right and episode.provenance == "fresh":
            problem, own = episode.request.problem.id, surprisals(episode)
            earlier = about.get(problem)
            if earlier is not None and anew and earlier["stage"] != memory.stage:
                earlier = None
            if earlier is None or len(own) < len(earlier["surprisals"]):
                held[problem] = bare(episode)
                about[problem] = {"surprisals": own, "stage": memory.stage, "version": episode.segments[-1].version}
    return memory.hold(place, list(held.values())).keep(place, about)


class KeepProofs(Remembering):
    """Holds the shortest proof of each theorem, with the mean -log pi of each tactic under the prover that found it
    (BFS-Prover-V2 2509.06493).

        remember=(KeepProofs(),)
        --mechanism.remember keep-proofs
    """

    keeps = STORE

    anew: bool = False  # proofs of earlier stages give way to those found now, however long these are
    does = keep_proofs
    needs_verdict = True
    needs = ("texts",)


class RehearseProofs(Asking):
    """Replaces every request by a proof of the corpus: each once an epoch, reshuffled.

    ask=(RehearseProofs(),)
    --mechanism.ask rehearse-proofs
    """

    reads = (KeepProofs,)

    name: str = STORE  # of the order in which the proofs come
    does = rehearse


def tactic_band(rows: Sequence[Row], memory: Memory, *, low: float, high: float, place: str) -> list[Row]:
    """keep_t = 1 on the tactics whose surprisal lies between the quantiles `low` and `high` of all tactics of the
    corpus, both included. Answers that are not in the corpus keep all their tokens.
    """
    about = memory.store(place)
    every = list(itertools.chain.from_iterable(proof["surprisals"] for proof in about.values()))
    if not every:
        return list(rows)
    least, most = np.quantile(every, low, method="lower"), np.quantile(every, high, method="higher")
    result = []
    for row in rows:
        own = tactics_of(row.episode.stream("origin"))
        stored = about.get(row.episode.request.problem.id, {"surprisals": ()})["surprisals"]
        if row.episode.provenance != "replay" or len(stored) != len(own):
            result.append(row)
            continue
        keep = np.zeros(len(row.episode), bool)
        for places, surprisal in zip(own, stored, strict=True):
            keep[places] = least <= surprisal <= most
        result.append(row.mark(keep=keep if row.keep is None else keep & row.keep))
    return result


class TacticBand(Curator):
    """Of each proof of the corpus the tactics train that were neither too likely nor too unlikely for the prover that
    found it: those between two quantiles of the mean -log pi of all tactics (BFS-Prover-V2 2509.06493).

        curate=(TacticBand(low=0.1, high=0.9),)
        --mechanism.curate tactic-band --mechanism.curate.0.low 0.1
    """

    reads = (KeepProofs,)
    writes = ("rows",)

    low: Proportion = 0.1
    high: Proportion = 0.9
    does = tactic_band

    def refusal(self, **_: object) -> str | None:
        if self.low < self.high:
            return None
        return f"tactic-band: low must be below high, and they are {self.low} and {self.high}."
