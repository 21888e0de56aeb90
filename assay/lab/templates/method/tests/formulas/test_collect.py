"""What is collected, by hand."""

from __future__ import annotations

from assay.lab.templates.method.parts.collect import MyMethod
from assay.part import bind


def test_the_answers_are_those_of_the_collector() -> None:
    told = bind(MyMethod())(lambda models, requests, memory: ([*requests], memory))
    assert told("models", ["a", "b"], "memory") == (["a", "b"], "memory")
