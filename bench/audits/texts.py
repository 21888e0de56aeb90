"""Texts under constraints. Each is built of words, sentences, paragraphs and bullets, and so its counts are known."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assay.verifiers.audit import Labelled

WORDS = (
    "the", "rain", "falls", "over", "old", "roofs", "and", "nobody", "counts", "drops", "it's", "well-known", "3.14",
    "Zürich", "café", "7", "e.g.", "don't", "A", "state-of-the-art", "1,000", "naïve", "snow", "Dr.",
)  # fmt: skip
ENDS = (".", "!", "?", "?!", "...", '."', ".)")


@dataclass
class Built:
    """A text and what it was built of."""

    text: str
    words: int
    sentences: int
    paragraphs: int
    bullets: int = 0
    said: list[str] = field(default_factory=list)  # its words


def _sentence(draw: random.Random, said: list[str]) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.randint(2, 7))] + [draw.choice(["sun", "moon", "sea", "hill"])]
    said += words
    end = draw.choice(ENDS)
    opened = {'."': '"', ".)": "("}.get(end, "")
    return f"{opened}{' '.join(words)}{end}"


def built(draw: random.Random) -> Built:
    """Prose of one to three paragraphs, or a list of bullets."""
    said: list[str] = []
    if draw.random() < 0.3:
        count = draw.randint(1, 5)
        lines = [f"{draw.choice(['- ', '* '])}{_sentence(draw, said)}" for _ in range(count)]
        return Built("\n".join(lines), len(said), count, 1, count, said)
    blocks, sentences = [], 0
    for _ in range(draw.randint(1, 3)):
        count = draw.randint(1, 4)
        sentences += count
        blocks.append(draw.choice([" ", " ", "\n"]).join(_sentence(draw, said) for _ in range(count)))
    gap = draw.choice(["\n\n", "\n\n", "\n\n\n", "\n \n"])
    return Built(gap.join(blocks), len(said), sentences, len(blocks), 0, said)


def _rules(draw: random.Random, one: Built) -> list[tuple[list[Any], bool]]:
    """Rules near the truth, with whether the text meets them."""
    off = draw.choice([-2, -1, 0, 0, 1, 2])
    part = draw.choice(one.said)
    found: list[tuple[list[Any], bool]] = []
    for name, count in (("words", one.words), ("sentences", one.sentences), ("paragraphs", one.paragraphs)):
        found.append(([name, count + off], off == 0))
    found += [
        (["words-at-most", one.words + off], off >= 0),
        (["words-at-least", one.words + off], off <= 0),
        (["bullets", one.bullets + off], off == 0),
        (["length", len(one.text) + off], off == 0),
        (["length-at-most", len(one.text) + off], off >= 0),
        (["with", part], True),
        (["without", part], False),
        (["with", f"{part}zq"], False),
        (["without", f"{part}zq"], True),
        (["starts", one.text[:5]], True),
        (["starts", f"{one.text[:5]}~"], False),
        (["ends", one.text[-4:]], True),
        (["ends", f"~{one.text[-4:]}"], False),
        (["uppercase"], False),
        (["json"], False),
        (["palindrome"], False),
    ]
    return found


def _variants(draw: random.Random, one: Built) -> Iterator[tuple[str, str, list[Any], bool]]:
    """The text in another form, with a rule and whether it is met."""
    quoted = json.dumps({"text": one.text})
    yield "capitals", one.text.upper(), ["uppercase"], True
    yield "one small letter", one.text.upper().replace("E", "e", 1) + "e", ["uppercase"], False
    yield "small letters", one.text.lower(), ["lowercase"], True
    yield "one capital", f"{one.text.lower()}N", ["lowercase"], False
    yield "mirrored", one.text + one.text[::-1], ["palindrome"], True
    yield "nearly mirrored", f"{one.text}q{one.text[::-1]}z", ["palindrome"], False
    yield "JSON", quoted, ["json"], True
    yield "JSON without its end", quoted[:-1], ["json"], False
    yield "JSON with words", f"Here: {quoted}", ["json"], False
    yield "JSON in quotes of Python", str({"text": one.text.replace("'", "")}), ["json"], False
    yield "no number", '{"value": NaN}', ["json"], False
    yield "punctuation as words", f"{one.text} - - . . -", ["words-at-least", one.words + 3], False
    yield "empty bullets", one.text + "\n- \n* \n- ", ["bullets", one.bullets + 3], False
    yield "rules as bullets", one.text + "\n- - -\n* * *", ["bullets", one.bullets + 2], False
    yield "stops without words", f"{one.text} . ! ?", ["sentences", one.sentences + 3], False
    yield "dots of a number", f"{one.text} It costs 3.50.", ["sentences", one.sentences + 1], True
    yield "paragraph of spaces", f"{one.text}\n\n \n\n\u200b\n\n", ["paragraphs", one.paragraphs + 1], False
    yield "space at the end", f"{one.text}\n", ["ends", one.text[-4:]], True
    yield "space at the start", f"\n{one.text}", ["starts", one.text[:5]], True
    yield "blank", " \n\t", ["words-at-most", 50], False


def constraints(count: int, seed: int) -> Iterator[Labelled]:
    """One to three rules, of which all must be met; two of three texts break one."""
    draw = random.Random(f"constraints {seed}")
    made = 0
    while made < count:
        one = built(draw)
        if draw.random() < 0.4:
            name, text, rule, label = draw.choice(list(_variants(draw, one)))
            rules = [rule]
        else:
            text, chosen = one.text, draw.sample(_rules(draw, one), draw.randint(1, 3))
            if draw.random() < 0.5:
                chosen = [(rule, met) for rule, met in chosen if met] or chosen
            rules, label = [rule for rule, _ in chosen], all(met for _, met in chosen)
            name = "+".join(sorted({str(rule[0]) for rule in rules})) if len(rules) == 1 else "several rules"
        if label != (made % 3 == 0):
            continue
        made += 1
        yield Labelled(json.dumps(rules), text, label, name, origin="built")
