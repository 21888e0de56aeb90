"""Policies over observations: their shapes, their networks, their words and their folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from assay.errors import ConfigError, DataError
from assay.policy import fingerprint, load_policy, mlp, save_policy, tabular
from assay.policy.acting import ActingConfig, ActionCodec, config_of
from assay.policy.conversation import Chat
from assay.policy.kinds import KINDS
from assay.policy.outline import outline
from assay.policy.plain_folder import fresh_mlp, fresh_table, size
from assay.rng import Key


def test_a_shape_is_read_from_its_name_and_fitted_to_a_world() -> None:
    assert mlp.shape_of("64x32:4x2") == ActingConfig("assay-mlp", 4, 2, (64, 32))
    assert mlp.fitted("64x32", 4, 2) == "64x32:4x2" and mlp.fitted("8:3x2", 4, 2) == "8:3x2"
    assert tabular.shape_of("5x2") == ActingConfig("assay-tabular", 5, 2)
    assert tabular.fitted("", 5, 2) == "5x2" and tabular.fitted("3x2", 5, 2) == "3x2"


@pytest.mark.parametrize("shape", ["64x64", "", "64:4", "64x:4x2", "64:0x2", "64:4x2x2", "999999:4x2"])
def test_a_shape_that_cannot_be_is_refused_with_one_that_can(shape: str) -> None:
    with pytest.raises(ConfigError, match=r"mlp:64x64:4x2|must be from 1"):
        fresh_mlp(shape, key=Key(0))


def test_an_mlp_is_layers_of_tanh_with_orthogonal_matrices() -> None:
    """Gains sqrt(2) in hidden layers and 0.01 before the actions; biases of zero."""
    network = fresh_mlp("8x8:4x3", key=Key(0)).network
    first, second = (layer.weight.detach() for layer in network.body)  # type: ignore[union-attr]
    head = network.head.weight.detach()  # type: ignore[union-attr]
    torch.testing.assert_close(first.T @ first, 2 * torch.eye(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(second @ second.T, 2 * torch.eye(8), atol=1e-5, rtol=0)
    torch.testing.assert_close(head @ head.T, 1e-4 * torch.eye(3), atol=1e-8, rtol=0)
    seen = torch.randn(5, 4)
    expected = torch.tanh(torch.tanh(seen @ first.T) @ second.T) @ head.T
    torch.testing.assert_close(network.head(network.features(seen)), expected)  # type: ignore[operator]


def test_a_table_has_a_row_of_logits_for_each_state() -> None:
    network = fresh_table("3x2", key=Key(0)).network
    with torch.no_grad():
        network.head.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))  # type: ignore[union-attr]
    states = network.head(network.features(torch.eye(3)))  # type: ignore[operator]
    assert states.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


@pytest.mark.parametrize(("name", "shape"), [("mlp", "8x8:4x2"), ("tabular", "5x2")])
def test_a_folder_holds_the_policy_and_says_its_kind(name: str, shape: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    assert kind.fresh is not None
    policy = kind.fresh(shape, key=Key(3))
    save_policy(policy, tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    again = load_policy(tmp_path)
    assert raw["model_type"] == f"assay-{name}" and config_of(raw) == policy.config == again.config
    assert again.kind == name and fingerprint(again) == fingerprint(policy)
    assert size(raw) == policy.size() == outline(tmp_path).size()
    assert fingerprint(kind.fresh(shape, key=Key(3))) == fingerprint(policy)
    (tmp_path / "config.json").write_text(json.dumps({**raw, "actions": 3}))
    with pytest.raises((DataError, ConfigError), match=r"head\.weight"):
        load_policy(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"), [({"layers": 3}, "layers 3"), ({"observed": "4"}, "'4'"), ({"actions": None}, "None")]
)
def test_a_config_that_says_something_else_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_of({"model_type": "assay-mlp", "observed": 4, "actions": 2, "layers": [8], **change})


def test_actions_are_written_as_numbers_and_words_are_refused() -> None:
    codec = ActionCodec(actions=3, observed=4)
    assert codec.decode([0, 2, 1]) == "0 2 1" and codec.encode("0 2 1").tolist() == [0, 2, 1]
    assert len(codec.render("whatever is asked")) == 0 and not codec.end_ids
    for words in ("3", "1 x", "-1", "1.0", "99999999999"):
        with pytest.raises(DataError, match="numbers from 0 to 2"):
            codec.encode(words)
    assert codec.speaking(Chat()) is codec
    with pytest.raises(ConfigError, match="reads no words"):
        codec.speaking(Chat(system="Be brief."))
