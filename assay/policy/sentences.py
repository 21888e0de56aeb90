"""Vectors of sentences by a sentence-embedding model, so that texts of one meaning lie close to each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, StorageError

MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
TOGETHER = 64  # texts of one pass
LONGEST = 512  # tokens of a text, if the model knows no limit


class Sentences:
    """A model that reads sentences, from a folder or the Hub, through transformers.

    vectors = Sentences("models/minilm")(["What is 2 + 2?", "Add two and two."])
    vectors @ vectors.T  # cosines

    The vector of a text is the mean of the model's last states over its tokens, of length 1. Code of the model's own is
    not run, and pickled weights are not read.
    """

    def __init__(self, place: str) -> None:
        try:
            import transformers
        except ImportError as error:
            raise ConfigError("embeddings need the package transformers: pip install 'assay-rl[hf]'.") from error
        local = Path(place).expanduser()
        name = str(local) if local.is_dir() else place
        from assay.policy.foreign import quiet

        only = {"local_files_only": True} if local.is_dir() else {}
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False, **only)
            with quiet(transformers):
                model: Any = transformers.AutoModel.from_pretrained(
                    name, trust_remote_code=False, use_safetensors=True, **only
                )
        except Exception as error:  # the library raises errors of any type for a model that it cannot read or fetch
            reason = " ".join(str(error).split())
            raise StorageError(
                f"no sentence-embedding model can be read from '{place}': {type(error).__name__}: {reason:.300} Name "
                "a folder with config.json, tokenizer.json and model.safetensors, or a model of the Hub, such as "
                f"{MULTILINGUAL}."
            ) from error
        self._model = model.eval()
        limit = getattr(model.config, "max_position_embeddings", LONGEST)
        self._longest = max(1, min(limit, self._tokenizer.model_max_length, LONGEST))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """One vector of length 1 for each text, as [texts, width]. Texts are cut at the model's limit."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # texts of like lengths share a pass
        found: list[np.ndarray] = [np.zeros(0, np.float32)] * len(texts)
        for at in range(0, len(order), TOGETHER):
            some = order[at : at + TOGETHER]
            for i, vector in zip(some, self._vectors([texts[i] for i in some]), strict=True):
                found[i] = vector
        return np.stack(found) if found else np.zeros((0, int(self._model.config.hidden_size)), np.float32)

    def _vectors(self, texts: list[str]) -> np.ndarray:
        import torch

        read = self._tokenizer(texts, padding=True, truncation=True, max_length=self._longest, return_tensors="pt")
        if not read["input_ids"].numel():  # texts without a token
            return np.zeros((len(texts), int(self._model.config.hidden_size)), np.float32)
        with torch.inference_mode():
            states = self._model(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1).to(states.dtype)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        return torch.nn.functional.normalize(means, dim=1).float().numpy()


def nearest(vectors: np.ndarray, others: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(places, cosines) of the `count` nearest others of each vector, the nearest first; of equals the first.

    nearest(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), 1)  # ([[0], [1]], [[1.0], [0.8]])
    """
    count = min(count, len(others))
    places, cosines = [], []
    for at in range(0, len(vectors), 1024):
        table = vectors[at : at + 1024] @ others.T
        order = np.argsort(-table, axis=1, kind="stable")[:, :count]
        places.append(order)
        cosines.append(np.take_along_axis(table, order, axis=1))
    if not places:
        return np.zeros((0, count), np.int64), np.zeros((0, count))
    return np.concatenate(places), np.concatenate(cosines)
