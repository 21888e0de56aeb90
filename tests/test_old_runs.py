"""Runs that earlier versions wrote are read, though names have changed since."""

from __future__ import annotations

import dataclasses

import pytest

from assay.ask import Hinted
from assay.errors import ConfigError
from assay.forwards import Agreement
from assay.known import recipe
from assay.recipe import Recipe, with_mechanisms
from assay.run.configure import from_data, override, to_data
from assay.run.experiment import Machine


def test_earlier_names_of_fields_are_read_from_documents() -> None:
    now = with_mechanisms(
        recipe("grpo"), lambda one: dataclasses.replace(one, ask=(Hinted(),), forwards=(Agreement(),))
    )
    data = to_data(now)
    mechanism = data["mechanism"]
    mechanism["augment"], mechanism["assess"] = mechanism.pop("ask"), mechanism.pop("forwards")
    assert from_data(Recipe, data) == now
    machine = to_data(Machine(verifying=5.0))
    machine["judging"] = machine.pop("verifying")
    assert from_data(Machine, machine) == Machine(verifying=5.0)


def test_earlier_names_are_told_on_the_command_line() -> None:
    with pytest.raises(ConfigError, match="'assess' is now called 'forwards'"):
        override(recipe("grpo"), "mechanism.assess", "none")
