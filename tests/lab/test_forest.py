"""Differences as a forest: each stands where its numbers say, in the color of its word."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

from assay.lab.study.forest import LEFT, RIGHT, WIDTH, Stem, forest

END = "x"  # the ends of a line are its attributes x1 and x2
BETTER = Stem("dapo", 0.04, 0.01, 0.07, (0.02, 0.05), "BETTER")
WORSE = Stem("worse", -0.09, -0.10, -0.08, (), "WORSE")


def drawn(*stems: Stem, worth: float = 0.0) -> ET.Element:
    return ET.fromstring(forest(stems, x="difference", worth=worth))


def numbers(element: ET.Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


def test_the_interval_and_the_points_stand_where_their_numbers_say() -> None:
    picture = drawn(BETTER, WORSE)
    zero = next(line for line in picture.iter("line") if line.get("class") == "zero")
    across = lambda value: LEFT + (value + 0.10) / 0.17 * (WIDTH - RIGHT - LEFT)  # noqa: E731  # from -0.10 to 0.07
    assert math.isclose(numbers(zero, f"{END}1")[0], across(0.0), abs_tol=0.06)
    first, other = picture.iter("g")
    line = next(first.iter("line"))
    assert all(
        math.isclose(a, b, abs_tol=0.06)
        for a, b in zip(numbers(line, f"{END}1", f"{END}2"), (across(0.01), across(0.07)))
    )
    places = [numbers(circle, "cx")[0] for circle in first.iter("circle")]
    assert all(math.isclose(a, across(b), abs_tol=0.06) for a, b in zip(places, (0.02, 0.05, 0.04), strict=True))
    assert len(list(other.iter("circle"))) == 1


def test_each_word_has_its_color_and_is_said() -> None:
    words = ["BETTER", "WORSE", "EQUAL", "UNDECIDED", "NO EVIDENCE", "SUPPORTED", "REFUTED", "NOT ENOUGH SEEDS"]
    picture = drawn(*(Stem(f"arm {word}", 0.0, -0.1, 0.1, (), word) for word in words))
    colors = [group.attrib["fill"] for group in picture.iter("g")]
    names = ["blue", "orange", "green", "before", "before", "blue", "orange", "before"]
    assert colors == [f"var(--{name})" for name in names]
    texts = [text.text for text in picture.iter("text")]
    assert all(word in texts for word in words)


def test_what_is_not_known_is_not_drawn() -> None:
    assert forest([], x="difference") == ""
    assert forest([Stem("a", math.nan, 0.0, 0.1, (), "BETTER")], x="difference") == ""
    assert len(list(drawn(BETTER, Stem("a", 0.1, -math.inf, 0.2, (), "UNDECIDED")).iter("g"))) == 1


def test_what_is_worth_nothing_is_shaded_and_texts_are_no_markup() -> None:
    (band,) = drawn(Stem("<b>&", 0.0, -0.2, 0.2, (), "EQUAL"), worth=0.02).iter("rect")
    assert numbers(band, "width")[0] > 0
    svg = forest([Stem("<b>&", 0.0, -0.2, 0.2, (), "x" * 60)], x="a < b")
    assert "<b>" not in svg and "&lt;b&gt;&amp;" in svg and not re.search(r">x{21,}<", svg)
