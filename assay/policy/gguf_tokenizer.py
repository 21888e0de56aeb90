"""The tokenizer in the metadata of a GGUF file, as the files of a Hugging Face folder.

A GGUF file names its pre-tokenizer, the rule by which text is cut before byte pairs are merged, and does not describe
it. Only names whose rule is known are read: with a wrong rule a model would see other tokens than those it learnt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.errors import ConfigError, DataError

NORMAL, SPECIAL, ADDED, UNUSED = 1, 3, 4, 5
ROLES = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
TEMPLATE, TEMPLATES = "tokenizer.chat_template", "tokenizer.chat_templates"


def _byte_level(*, cut: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": cut}


_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPLIT = {"type": "Split", "pattern": {"Regex": _QWEN2}, "behavior": "Isolated", "invert": False}
_DIGITS = {"type": "Digits", "individual_digits": True}
CUTTING: dict[str, dict[str, Any]] = {
    "smollm": {"type": "Sequence", "pretokenizers": [_DIGITS, _byte_level(cut=True)]},
    "qwen2": {"type": "Sequence", "pretokenizers": [_SPLIT, _byte_level(cut=False)]},
    "gpt-2": _byte_level(cut=True),
}
"""Names of pre-tokenizers -> the rule as tokenizer.json writes it."""

COMPOSING = ("qwen2",)
"""The pre-tokenizers of published tokenizers that first compose characters, in Unicode's form NFC."""


class GgufTokenizer:
    """The tokenizer that the metadata of a file describe. `place` is the file, for errors.

    GgufTokenizer(file.metadata, "model.gguf").files(context=8192)["tokenizer.json"]
    """

    def __init__(self, metadata: Mapping[str, Any], place: str) -> None:
        self.metadata, self.place = metadata, place
        self.cutting = self._pre_tokenizer()
        self.tokens, self.kinds = self._vocabulary()
        self.merges = self._merges()

    def files(self, *, context: int) -> dict[str, bytes]:
        """tokenizer.json and tokenizer_config.json."""
        special = {role: self.tokens[token] for role, token in self.roles().items()}
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **special,
            **self._templates(),
            "clean_up_tokenization_spaces": False,
            "model_max_length": context,
        }
        return {
            "tokenizer.json": _json(self._described()),
            "tokenizer_config.json": _json(settings),
        }

    def roles(self) -> dict[str, int]:
        """The ids of the tokens that begin, end and fill a text, as far as the file names them."""
        found = {}
        for role, theirs in ROLES.items():
            value = self.metadata.get(f"tokenizer.ggml.{theirs}_token_id")
            if value is not None:
                found[role] = self.id_of(f"tokenizer.ggml.{theirs}_token_id")
        return found

    def ids(self) -> dict[str, Any]:
        """The ids of special tokens as config.json names them. A model may end its turn by one token, and a text by
        another.
        """
        roles, turn = self.roles(), "tokenizer.ggml.eot_token_id"
        ends = {roles["eos_token"]} if "eos_token" in roles else set()
        if turn in self.metadata:
            ends.add(self.id_of(turn))
        listed = sorted(ends)
        return {
            "bos_token_id": roles.get("bos_token"),
            "eos_token_id": listed[0] if len(listed) == 1 else listed or None,
            "pad_token_id": roles.get("pad_token"),
        }

    def id_of(self, field: str) -> int:
        value = self.metadata[field]
        if type(value) is not int or not 0 <= value < len(self.tokens):
            raise DataError(
                f"{self.place}: {field} is the id of one of {len(self.tokens):,} tokens, not {value!r:.80}."
            )
        return value

    def _field(self, name: str, kind: type, default: Any = None) -> Any:
        value = self.metadata.get(name, default)
        if not isinstance(value, kind):
            came = "nothing" if value is None else f"{value!r:.80}"
            raise DataError(f"{self.place}: {name} should be a {kind.__name__}, and is {came}.")
        return value

    def _pre_tokenizer(self) -> str:
        model = self._field("tokenizer.ggml.model", str)
        if model != "gpt2":
            raise ConfigError(
                f"{self.place} has a tokenizer of kind {model!r:.80}; 'gpt2', byte pairs on bytes, is read. Take the "
                "model as a Hugging Face folder instead."
            )
        name = self.metadata.get("tokenizer.ggml.pre", "default")
        if not isinstance(name, str) or name not in CUTTING:
            raise ConfigError(
                f"{self.place} has the pre-tokenizer {name!r:.80}; those whose rule is known here are "
                f"{', '.join(CUTTING)}. With a guessed rule the model would read other tokens than those it learnt: "
                "take the model as a Hugging Face folder instead."
            )
        for flag in ("add_eos_token", "add_space_prefix"):
            if self._field(f"tokenizer.ggml.{flag}", bool, False):
                raise ConfigError(f"{self.place}: tokenizer.ggml.{flag} = true is not supported; supported: false.")
        return name

    def _vocabulary(self) -> tuple[list[str], list[int]]:
        tokens = self._texts("tokenizer.ggml.tokens")
        given = self.metadata.get("tokenizer.ggml.token_type")
        kinds = [NORMAL] * len(tokens) if given is None else self._whole_numbers(given)
        if len(kinds) != len(tokens):
            raise DataError(f"{self.place} has {len(tokens):,} tokens and the types of {len(kinds):,}.")
        for kind in set(kinds) - {NORMAL, SPECIAL, ADDED, UNUSED}:
            raise ConfigError(
                f"{self.place}: token {tokens[kinds.index(kind)]!r:.80} is of type {kind}; a tokenizer of byte pairs "
                f"has types {NORMAL}, {SPECIAL}, {ADDED} and {UNUSED}."
            )
        while kinds and kinds[-1] == UNUSED:  # rows that belong to no token, which round the number of rows up
            del kinds[-1], tokens[-1]
        if not tokens or not all(tokens):
            raise DataError(f"{self.place}: tokenizer.ggml.tokens is empty, or holds an empty token.")
        if len(set(tokens)) != len(tokens):
            ((twice, _),) = Counter(tokens).most_common(1)
            raise DataError(f"{self.place}: token {twice!r:.80} is there twice.")
        return tokens, kinds

    def _texts(self, name: str) -> list[str]:
        texts = list(self._field(name, list))
        if not all(isinstance(text, str) for text in texts):
            raise DataError(f"{self.place}: {name} should be a list of texts.")
        return texts

    def _whole_numbers(self, given: Any) -> list[int]:
        if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu":
            raise DataError(f"{self.place}: tokenizer.ggml.token_type should be a list of whole numbers.")
        return given.tolist()

    def _merges(self) -> list[str]:
        merges, known = self._texts("tokenizer.ggml.merges"), set(self.tokens)
        for merge in merges:
            left, _, right = merge.partition(" ")
            if not left or not right or " " in right or not {left, right, left + right} <= known:
                raise DataError(
                    f"{self.place}: the merge {merge!r:.80} should be two tokens with a space between them, which "
                    "together are a third."
                )
        return merges

    def _described(self) -> dict[str, Any]:
        begin = self.roles().get("bos_token") if self._field("tokenizer.ggml.add_bos_token", bool, False) else None
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [self._added(token) for token, kind in enumerate(self.kinds) if kind in (SPECIAL, ADDED)],
            "normalizer": {"type": "NFC"} if self.cutting in COMPOSING else None,
            "pre_tokenizer": CUTTING[self.cutting],
            "post_processor": None if begin is None else _opening(self.tokens[begin], begin),
            "decoder": _byte_level(cut=True),
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {token: number for number, token in enumerate(self.tokens)},
                "merges": self.merges,
            },
        }

    def _added(self, token: int) -> dict[str, Any]:
        same = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return {"id": token, "content": self.tokens[token], **same, "special": self.kinds[token] == SPECIAL}

    def _templates(self) -> dict[str, Any]:
        """The chat template; those with names of their own stand beside it in a list."""
        if TEMPLATE not in self.metadata:
            return {}
        named = self._texts(TEMPLATES) if TEMPLATES in self.metadata else []
        places = {"default": TEMPLATE} | {name: f"{TEMPLATE}.{name}" for name in named if name != "default"}
        texts = {name: self._field(field, str) for name, field in places.items()}
        if list(texts) == ["default"]:
            return {"chat_template": texts["default"]}
        return {"chat_template": [{"name": name, "template": text} for name, text in texts.items()]}


def _opening(token: str, place: int) -> dict[str, Any]:
    """The rule of tokenizer.json that begins a text with a token."""
    mark, text = {"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    pair = [mark, text, {"SpecialToken": {"id": token, "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
    known = {token: {"id": token, "ids": [place], "tokens": [token]}}
    return {"type": "TemplateProcessing", "single": [mark, text], "pair": pair, "special_tokens": known}


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
