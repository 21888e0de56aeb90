"""Text <-> token ids, through the `tokenizer.json` of a Hugging Face folder.

The ids that a model sampled are decoded for checkers and for people, but the text is never encoded again: the new ids
could be others than the sampled ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from assay.errors import ConfigError, DataError, StorageError
from assay.host.files import parse_json, read_bytes
from assay.policy import conversation, provenance
from assay.policy.chat import CHARACTERS, OURS, PLAIN, UNOPENED, Message, names_in, render_chat
from assay.policy.conversation import Chat, opened, plain
from assay.policy.messages import calls_in_words, marked, pictures_in
from assay.policy.pictures import SETTINGS, Pictures
from assay.prompt import text_of
from assay.types import Ids

FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    SETTINGS,
    conversation.FILE,
    provenance.FILE,
)
LARGEST = 64 << 20  # bytes of a file; vocabularies of a quarter of a million tokens take half of it
LONGEST_TEMPLATE = 1 << 20  # characters
_OURS = frozenset(["messages", "tools", "documents", "add_generation_prompt", "raise_exception", "strftime_now"])
_SPECIALS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """The tokenizer of a policy, with its chat template.

    Example:
        tokenizer = load_tokenizer("path/to/model")
        tokenizer.decode(tokenizer.encode("2 + 2"))  # "2 + 2"
    """

    backend: tokenizers.Tokenizer
    files: Mapping[str, bytes] = field(repr=False)  # the files that it was read from; a checkpoint copies them
    vocab: int  # ids are 0 .. vocab - 1
    special: Mapping[str, Any]  # bos_token, eos_token, ... as chat templates see them
    special_ids: frozenset[int]
    end_ids: frozenset[int]
    pad_id: int | None = None
    template: str | None = None
    alphabet: frozenset[str] | None = None  # the characters that a character tokenizer knows; None for other tokenizers
    decoding: frozenset[str] = frozenset()  # kinds of the decoder's steps, which say how tokens spell bytes
    tool_template: str | None = None  # the template for conversations with tools, if the folder has a separate one
    chat: Chat = field(default_factory=Chat)  # the chat settings that go into every prompt
    place: str = ""  # the folder that it was read from, named in error messages
    pictures: Pictures | None = None  # the pictures that were shown to a model that sees; None: it reads text alone

    def encode(self, text: str) -> Ids:
        """int32 ids of the text alone: no special tokens are added."""
        if self.alphabet is not None:
            self._check_alphabet(text)
        return self._ids(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text without special tokens and pictures. An unfinished UTF-8 character becomes U+FFFD."""
        known = self._known(ids if self.pictures is None else (token for token in ids if token >= 0))
        with _NamingFailures(self.place):
            return self.backend.decode(known, skip_special_tokens=True)

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; for a special token, its name.
        Concatenated, they are the text in UTF-8.
        """
        (token,) = self._known([token])
        text = self.backend.id_to_token(token)
        if text is None:
            raise DataError(f"token id {token} is a hole in the vocabulary: tokenizer.json gives no token this id.")
        if token in self.backend.get_added_tokens_decoder():
            return text.encode()
        return self._spelling(text)

    def render(
        self,
        prompt: str | Sequence[Message],
        *,
        variables: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Ids:
        """The ids of a prompt, rendered by the chat template up to where the assistant's turn begins.

        A string counts as one message of the user. A tokenizer without a template
        encodes a string as it is, and renders messages by `PLAIN`. `variables`
        and `tools` are for this prompt alone, and win over those of `speaking`.
        """
        chat = self.chat
        if self.template is None and isinstance(prompt, str) and not (chat.system or chat.examples):
            return self.encode(prompt)
        given = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        if chat.template == "none":
            return self._unwrapped(given)
        messages = opened(chat, given)
        if "tool_calls" not in self._template(bool(self.chat.schemas if tools is None else tools)):
            messages = list(map(calls_in_words, messages))
        if self.alphabet is not None:
            for message in messages:
                self._check_alphabet(text_of(message.get("content", "")))
        shown = list(pictures_in(messages))
        tools = self.chat.schemas if tools is None else tools
        seen = {**self.special, **self.chat.switches, **(variables or {})}
        template = self._template(bool(tools))
        if self.pictures is not None:
            mark = self.backend.id_to_token(self.pictures.token) if template in OURS else None
            messages = marked(messages, mark)
        elif shown:
            raise DataError(
                f"a prompt shows a picture, and the model {self.place} reads text alone: take one that sees."
            )
        text = render_chat(template, messages, variables=seen, tools=tools, place=self.place)
        ids = self._ids(text)
        return ids if self.pictures is None else self.pictures.placed(ids, shown)

    def heard(self, texts: Sequence[str], *, ended: bool) -> Ids:
        """The ids of messages of tools behind a turn of the assistant, up to where its next turn begins, as the chat
        template writes them. `ended`: the assistant has written the token that ends its turn.
        """
        if self.template is None or self.template in OURS:
            raise ConfigError(
                f"replies of tools are written by the model's chat template, and {self.place or 'the model'} has none "
                "for tools. Take a model with one, or a world that is spoken in another way."
            )
        return self.following(
            [{"role": "tool", "content": text} for text in texts], tools=self.chat.schemas, ended=ended
        )

    def following(self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] | None, ended: bool) -> Ids:
        """The ids of messages behind a turn of the assistant, up to where its next turn begins. `ended`: the assistant
        has written the token that ends its turn.
        """
        if self.alphabet is not None:
            for message in messages:
                self._check_alphabet(text_of(message.get("content", "")))
        mark = "<answer of the assistant>"
        before: list[Message] = [{"role": "user", "content": "?"}, {"role": "assistant", "content": mark}]
        seen, template = {**self.special, **self.chat.switches}, self._template(bool(tools))
        whole = render_chat(template, [*before, *messages], variables=seen, tools=tools, place=self.place)
        ids = self._ids(whole.rpartition(mark)[2])
        return ids[1:] if ended and len(ids) and int(ids[0]) in self.end_ids else ids

    def _unwrapped(self, messages: Sequence[Message]) -> Ids:
        """The ids of a prompt as plain text, after the token that begins every text if the tokenizer has one."""
        if any(True for _ in pictures_in(messages)):
            raise DataError("a prompt shows a picture, which plain text cannot: leave chat.template none out.")
        begin, ids = self.id_of("bos_token"), self.encode(plain(self.chat, messages))
        return np.concatenate([np.array([begin], np.int32), ids]) if self._begins else ids

    @property
    def identity(self) -> bytes:
        """What tells it apart from other tokenizers in fingerprints."""
        return self.files["tokenizer.json"]

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end an answer, beside the end tokens."""
        return self.chat.stop

    def speaking(self, chat: Chat) -> Tokenizer:
        """The same tokenizer with these chat settings in every prompt. Settings
        that its template ignores are refused.
        """
        chat = conversation.resolved(chat)
        variables = names_in(self._template(bool(chat.tools)), place=self.place)
        for name in chat.switches:
            if name not in variables:
                others = ", ".join(sorted(variables - _OURS)) or "none"
                raise ConfigError(f"the chat template has no variable '{name}'; it reads {others}.")
        if chat.tools and "tools" not in variables:
            raise ConfigError(
                "the chat template writes no tools into the prompt: describe the tools in chat.system, or take a model "
                "whose template writes them."
            )
        files = {name: content for name, content in self.files.items() if name != conversation.FILE}
        if chat != Chat():
            files[conversation.FILE] = (json.dumps(asdict(chat), indent=2) + "\n").encode()
        return replace(self, chat=chat, files=files)

    def require_system(self) -> None:
        """Raises an error for a system message of the settings that the chat template refuses, or leaves out."""
        if not self.chat.system:
            return
        question = [{"role": "user", "content": ""}]
        if np.array_equal(self.render(question), self.speaking(replace(self.chat, system="")).render(question)):
            raise ConfigError(
                "the chat template leaves the system message out, so that the model would never read it: say it in the "
                "first question, and leave --system out."
            )

    def _ids(self, text: str) -> Ids:
        with _NamingFailures(self.place):
            try:
                return np.array(self.backend.encode(text, add_special_tokens=False).ids, dtype=np.int32)
            except TypeError:
                raise _not_unicode(text) from None

    def _template(self, tools: bool) -> str:
        if self.template is not None:
            return self.tool_template if tools and self.tool_template is not None else self.template
        return PLAIN if self._begins else UNOPENED

    @property
    def _begins(self) -> bool:
        """Whether the tokenizer begins every text with a bos token."""
        return self.backend.encode("", add_special_tokens=True).ids[:1] == [self.id_of("bos_token")]

    def id_of(self, role: str) -> int | None:
        """The id of a special token by its role: bos_token, eos_token, pad_token, sep_token, ..."""
        return _id(self.backend, self.special, role)

    def ending(self, ids: Iterable[int]) -> Tokenizer:
        """The same tokenizer with these end tokens as well."""
        return replace(self, end_ids=self.end_ids | frozenset(self._known(ids)))

    def _known(self, ids: Iterable[int]) -> list[int]:
        known = list(map(int, ids))
        if known and (min(known) < 0 or max(known) >= self.vocab):
            token = next(token for token in known if not 0 <= token < self.vocab)
            raise DataError(f"token id {token} is not in the vocabulary of {self.vocab} tokens.")
        return known

    def _check_alphabet(self, text: str) -> None:
        for place, character in enumerate(text):
            if character not in (self.alphabet or ()):
                raise DataError(
                    f"character {character!r} at {place} of {text[:60]!r} is not in this tokenizer's alphabet "
                    f"{''.join(sorted(self.alphabet or ()))!r}."
                )

    def _spelling(self, token: str) -> bytes:
        if "ByteLevel" in self.decoding:
            return b"".join(_BYTE_OF[c] if c in _BYTE_OF else c.encode() for c in token)
        if "ByteFallback" in self.decoding and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            return bytes([int(token[3:5], 16)])
        return token.replace("▁", " ").encode() if self.decoding & {"Metaspace", "Replace"} else token.encode()


def _not_unicode(text: str) -> DataError:
    """The error for a text that the tokenizers library takes for none."""
    half = next((place for place, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), 0)
    return DataError(
        f"character {half} of {text[:60]!r} is half of a surrogate pair, which no text in Unicode holds: remove it."
    )


class _NamingFailures:
    """Turns a panic of the tokenizers library into a DataError that names the tokenizer's folder. A class, not a
    generator with `contextmanager`, because it is entered for every answer.

    The library panics, for example, on a text for which a regular expression of tokenizer.json would search for ever.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None and kind.__name__ == "PanicException":  # a panic of a Rust library is no Exception
            named = f" of {self.place}" if self.place else ""
            raise DataError(f"the tokenizer{named} fails on a text: {error!s:.200}.") from error


def _byte_of() -> dict[str, bytes]:
    """The bytes that characters of a byte-level vocabulary stand for: a printable
    byte has its own character, the others have characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): bytes([byte]) for byte in printable}
    return letters | {chr(0x100 + place): bytes([byte]) for place, byte in enumerate(others)}


_BYTE_OF = _byte_of()
_LETTER_OF = {byte[0]: letter for letter, byte in _BYTE_OF.items()}


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Reads the tokenizer files of a Hugging Face folder."""
    folder = Path(folder)
    if not (folder / "tokenizer.json").is_file():
        raise StorageError(
            f"{folder} has no tokenizer.json. Slow tokenizers are not read; convert one with transformers: "
            "AutoTokenizer.from_pretrained(folder, use_fast=True).save_pretrained(folder)."
        )
    there = [name for name in FILES if (folder / name).exists()]
    files = {name: read_bytes(folder / name, most=LARGEST) for name in there}
    return tokenizer_from_files(files, place=str(folder))


def tokenizer_from_files(files: Mapping[str, bytes], *, place: str = "") -> Tokenizer:
    """The tokenizer that these files describe, by their names in a Hugging Face folder."""
    try:
        with _NamingFailures(place):
            backend = tokenizers.Tokenizer.from_buffer(files["tokenizer.json"])
    except ValueError as error:
        raise StorageError(f"tokenizer.json cannot be read: {error}") from error
    backend.no_padding()
    backend.no_truncation()
    settings = _json(files, "special_tokens_map.json") | _json(files, "tokenizer_config.json")
    _check_added(backend, settings.get("added_tokens_decoder") or {})
    special = {name: _content(settings[name]) for name in _SPECIALS if settings.get(name) is not None}
    end = _id(backend, special, "eos_token")
    vocabulary = backend.get_vocab(with_added_tokens=True)
    described = _json(files, "tokenizer.json")
    decoder = described.get("decoder") or {}
    template, tool_template = _templates(files, settings)
    made = Tokenizer(
        backend=backend,
        files=dict(files),
        vocab=max(vocabulary.values()) + 1,
        special=special,
        special_ids=frozenset(i for i, token in backend.get_added_tokens_decoder().items() if token.special),
        end_ids=frozenset() if end is None else frozenset([end]),
        pad_id=_id(backend, special, "pad_token"),
        template=template,
        tool_template=tool_template,
        alphabet=_alphabet(described),
        decoding=frozenset(step["type"] for step in [decoder, *decoder.get("decoders", [])] if step),
        place=place,
    )
    chat = _json(files, conversation.FILE)
    return made.speaking(conversation.stored(chat)) if chat else made


def _json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        value = parse_json(files.get(name, b"{}"))
    except ValueError as error:
        raise StorageError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise StorageError(f"{name} must hold a JSON object, not {type(value).__name__}.")
    return value


def _content(token: Any) -> str:
    text = token.get("content") if isinstance(token, dict) else token
    if not isinstance(text, str):
        raise DataError(
            f"tokenizer_config.json: a special token must be a text, or an object with a 'content', not {token!r:.80}."
        )
    return text


def _id(backend: tokenizers.Tokenizer, special: Mapping[str, str], name: str) -> int | None:
    if name not in special:
        return None
    found = backend.token_to_id(special[name])
    if found is None:
        raise DataError(f"tokenizer_config.json names {name} = {special[name]!r}, which tokenizer.json does not have.")
    return found


def _check_added(backend: tokenizers.Tokenizer, added: Any) -> None:
    if not isinstance(added, dict) or not all(place.isdecimal() and len(place) < 12 for place in added):
        raise DataError(
            "tokenizer_config.json: added_tokens_decoder must be an object whose keys are token ids and whose values "
            "are tokens."
        )
    for place, token in added.items():
        if backend.token_to_id(_content(token)) != int(place):
            raise DataError(
                f"tokenizer_config.json gives {_content(token)!r} the id {place}, tokenizer.json "
                f"{backend.token_to_id(_content(token))}: the folder mixes two tokenizers."
            )


def _templates(files: Mapping[str, bytes], settings: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """(the chat template, the template for conversations with tools); None where the folder has none.

    chat_template.jinja wins over chat_template.json, and both win over tokenizer_config.json.
    """
    if "chat_template.jinja" in files:
        return _template_of(files["chat_template.jinja"], "chat_template.jinja"), None
    template = _json(files, "chat_template.json").get("chat_template") or settings.get("chat_template")
    if isinstance(template, list):
        if not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in template):
            raise DataError("tokenizer_config.json: chat_template must be a text, or a list of templates with names.")
        named = {entry["name"]: _template_of(entry.get("template")) for entry in template}
        if "default" not in named:
            raise DataError(f"tokenizer_config.json has chat templates {', '.join(sorted(named))} but no 'default'.")
        return named["default"], named.get("tool_use")
    return None if template is None else _template_of(template), None


def _template_of(value: Any, place: str = "tokenizer_config.json") -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8: {error}.") from None
    if not isinstance(text, str) or len(text) > LONGEST_TEMPLATE:
        raise DataError(f"{place}: a chat template is a text of at most {LONGEST_TEMPLATE:,} characters.")
    return text


def _alphabet(described: Mapping[str, Any]) -> frozenset[str] | None:
    """The characters of a character tokenizer: every token is one character, and no other character has a token.

    None for any other tokenizer.
    """
    model, added = described.get("model", {}), {token["content"] for token in described.get("added_tokens", [])}
    letters = set(model.get("vocab") or {}) - added
    if any(len(letter) != 1 for letter in letters) or model.get("unk_token") in letters | added:
        return None
    if model.get("type") == "WordLevel":
        return frozenset(letters)
    spelt = {_BYTE_OF[letter] for letter in letters if letter in _BYTE_OF}
    plain = model.get("type") == "BPE" and not model.get("merges") and len(spelt) == len(letters) < 128
    return frozenset(byte.decode("ascii") for byte in spelt) if plain and b"".join(spelt).isascii() else None


def character_tokenizer(alphabet: str, *, sees: bool = False) -> Tokenizer:
    """One token per character: ids 0 <pad>, 1 <bos>, 2 <eos>, 3 <sep>, then the alphabet in its order.

    A prompt becomes <bos>, its characters, <sep>; an answer is its characters and <eos>. With `sees` one more token
    marks the place of a picture.
    """
    if not alphabet or len(set(alphabet)) != len(alphabet):
        raise DataError(f"an alphabet must hold characters, each once, not {alphabet!r}.")
    names = _unspellable(alphabet)
    marks = {"image_token": f"{names['pad_token'][0]}picture{names['pad_token'][-1]}"} if sees else {}
    if alphabet.isascii():  # byte-level without merges, the form in which transformers reads a qwen2 model's tokenizer
        words = [*names.values(), *(_LETTER_OF[ord(letter)] for letter in alphabet), *marks.values()]
        backend = tokenizers.Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        backend.decoder = decoders.ByteLevel()
    else:
        words = [*names.values(), *alphabet, *marks.values()]
        backend = tokenizers.Tokenizer(models.WordLevel(vocab={word: i for i, word in enumerate(words)}, unk_token=""))
        backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
        backend.decoder = decoders.Fuse()
    specials = (*names.values(), *marks.values())
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in specials])
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **names,
        **marks,
        "unk_token": names["pad_token"],  # never needed; without a name for it, transformers adds a token of its own
        "chat_template": CHARACTERS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 10**9,
    }
    return tokenizer_from_files(
        {
            "tokenizer.json": backend.to_str(pretty=True).encode(),
            "tokenizer_config.json": json.dumps(settings, indent=2, ensure_ascii=False).encode(),
        }
    )


def _unspellable(alphabet: str) -> dict[str, str]:
    """Names for the special tokens that no text over the alphabet can spell, so that no prompt can forge one."""
    words = {"pad_token": "pad", "bos_token": "bos", "eos_token": "eos", "sep_token": "sep"}
    for left, right in ("<>", "⟨⟩", "⟦⟧", "«»"):
        if not {left, right} <= set(alphabet):
            return {role: f"{left}{word}{right}" for role, word in words.items()}
    raise DataError("the alphabet holds every kind of bracket that could mark special tokens; leave one out.")
