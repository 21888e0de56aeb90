"""Codecs: how a problem becomes the numbers that a network reads, and how what it writes becomes an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from assay.errors import ConfigError
from assay.policy.conversation import Chat
from assay.types import Ids


class Codec(Protocol):
    """The part of a codec that the phases need."""

    @property
    def end_ids(self) -> frozenset[int]: ...  # tokens that end an answer
    @property
    def vocab(self) -> int: ...  # number of tokens
    @property
    def stops(self) -> tuple[str, ...]: ...  # texts that end an answer as an end token does
    def render(self, prompt: Any) -> Ids: ...  # a prompt, text or messages, as the model reads it
    def encode(self, text: str) -> Ids: ...
    def decode(self, ids: Sequence[int]) -> str: ...


class PolicyCodec(Codec, Protocol):
    """The codec of a policy, which is stored with its weights: a tokenizer, or what a kind has in its place."""

    def decode(self, ids: Iterable[int]) -> str: ...
    @property
    def files(self) -> Mapping[str, bytes]: ...  # what it was read from; a checkpoint copies them
    @property
    def identity(self) -> bytes: ...  # what tells it apart from other codecs in fingerprints
    @property
    def chat(self) -> Chat: ...  # the chat settings that go into every prompt
    def speaking(self, chat: Chat) -> Self: ...  # the same with these settings; refused where they would have no effect
    def require_system(self) -> None: ...  # refuses a system message that the model would never read


class Wordless:
    """The part of the codec of a policy that reads no words that does not depend on what it reads instead."""

    whose: ClassVar[str]  # for messages: a policy of which kind

    @property
    def stops(self) -> tuple[str, ...]:
        return ()

    @property
    def files(self) -> Mapping[str, bytes]:
        return {}

    @property
    def chat(self) -> Chat:
        return Chat()

    def speaking(self, chat: Chat) -> Self:
        if chat != Chat():
            raise ConfigError(f"{self.whose} reads no words: leave --system and the chat settings out.")
        return self

    def require_system(self) -> None:
        """There is none: `speaking` has refused it."""
