"""Models of other families through `transformers`: the same engine as ours, from a folder and back to one."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    assert_same,
    batch_of,
    exact_scores,
    learn,
    naive,
    naive_log_probs,
    requests_of,
    require_sampled,
    rows_of,
)
from foreign_models import FAMILIES, TOKENIZER, folder_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import Exact
from small_runs import Shell, came_to, copy_of, train_line
from typed import as_foreign, present

from assay.engine.choose import engine_of
from assay.engine.interface import Span, Want
from assay.engine.transformers.engine import AdapterEngine
from assay.engine.transformers.padded import cut_rectangles
from assay.policy import load_policy, save_policy
from assay.policy.adapted import own
from assay.policy.adapter_folder import put_on
from assay.policy.foreign import Foreign
from assay.policy.lora import Lora
from assay.policy.policy import fingerprint
from assay.rng import Key, uniforms
from assay.run.named_model import locate

KEY = Key(7)
LENGTHS = [5, 1, 9, 3, 7, 2, 12]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("families")
    return {family: folder_of(family, root / family) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def engine(folder: Path, precision: str = "fp32", **changes: Any) -> AdapterEngine:
    policy = load_policy(folder)
    values: dict[str, Any] = {"end_ids": frozenset({2}), "precision": precision, **changes}
    return AdapterEngine(policy.network, **values)


@pytest.mark.slow
def test_what_is_none_of_our_families_is_run_by_transformers(family: str, folders: dict[str, Path]) -> None:
    policy = load_policy(folders[family])
    assert isinstance(policy.network, Foreign)
    assert engine_of(policy.network, "auto", "cpu", "fp32").engine is AdapterEngine
    assert (policy.config.vocab, policy.config.context) == (TOKENIZER.vocab, 64)
    assert policy.end_ids == frozenset({2})


@pytest.mark.slow
def test_gradients_are_those_of_rows_run_alone(
    family: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine_cases.Default.kind", "adapter")
    learner = engine(folders[family])
    batch = batch_of(*rows_of(LENGTHS), temperature=0.7)
    want = naive(learner, batch)
    for tokens in (1000, 30, 1):
        assert_same(learn(learner, batch, tokens=tokens), want)


@pytest.mark.slow
def test_tokens_are_those_that_their_numbers_pick(family: str, folders: dict[str, Path]) -> None:
    """Prompts of many lengths together, some of them finished early: each row is what it is alone."""
    sampler = engine(folders[family], memory_bytes=3 * 4000)
    requests = requests_of(4, 3, max_new=11, temperature=0.9)
    for request, got in zip(requests, sampler.generate(requests, KEY), strict=True):
        ids, noise = got.segment.ids, uniforms([KEY(request.id)], 11)[0]
        logp = naive_log_probs(sampler.model, request.context, ids, 0.9).detach()
        cdf = logp.exp().cumsum(-1).numpy()
        assert ids.tolist() == [int((row <= u * row[-1]).sum()) for row, u in zip(cdf, noise)]
        assert got.finish == ("stop" if ids[-1] == 2 else "length") and (2 not in ids[:-1])
        (score,) = sampler.score([Span(request.context, ids, 0.9)], entropy=True)
        require_sampled(sampler, [request], [got]).require(logp=score.logp, entropy=present(score.entropy))


def step(of: AdapterEngine) -> None:
    for chunk in of.chunks(batch_of(*rows_of(LENGTHS)), tokens=40):
        out = of.forward(chunk, Want())
        (chunk.streams["advantage"] * out.logp).sum().backward()
        of.backward(chunk, out)
    assert of.step(lr=1e-2, clip=1.0)["skipped"] == 0


@pytest.mark.slow
def test_what_was_trained_loads_in_transformers(family: str, folders: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    policy = load_policy(folders[family])
    before = fingerprint(policy)
    learner = AdapterEngine(policy.network, end_ids=policy.end_ids, precision="fp32")
    step(learner)
    state = learner.state()
    step(learner)
    other = engine(folders[family], "fp32")
    other.load(state)
    step(other)
    for name, value in learner.state().items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(other.state()[name])), name
    save_policy(policy, tmp_path / "trained")
    loaded: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "trained", output_loading_info=True)
    model, report = loaded
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    for name, tensor in as_foreign(policy.network).inner.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name
    for name, content in TOKENIZER.files.items():
        assert (tmp_path / "trained" / name).read_bytes() == content
    again = load_policy(tmp_path / "trained")
    assert fingerprint(again) == fingerprint(policy) != before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gemma2", "phi3", "mistral"])
def test_adapters_of_low_rank_on_any_model(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    policy = put_on(load_policy(folders[kind]), Lora(2, 4.0), place=str(folders[kind]), key=KEY)
    learner = AdapterEngine(policy.network, end_ids=policy.end_ids, precision="fp32")
    twin = learner.copy()
    shared = {n for n, p in twin.model.named_parameters() if p.data_ptr() == learner.model.get_parameter(n).data_ptr()}
    assert shared == set(policy.network.base_names)
    for _ in range(3):
        step(learner)
    assert all(".lora_" in name for name in learner.state() if name.startswith("parameter/"))
    assert all(float(p.detach().abs().max()) > 0 for n, p in own(learner.model).items() if "lora_B" in n)
    save_policy(policy, tmp_path / "adapter")
    again = engine(tmp_path / "adapter", "fp32")
    contexts, answers = rows_of([6])
    spans = [Span(contexts[0], answers[0])]
    np.testing.assert_array_equal(again.score(spans)[0].logp, learner.score(spans)[0].logp)
    save_policy(policy, tmp_path / "merged", merge=True)
    exact = exact_scores(learner.model, spans)
    for one in (learner, engine(tmp_path / "merged", "fp32")):
        exact.require(logp=one.score(spans)[0].logp)


@pytest.mark.slow
def test_peft_loads_the_adapter_of_another_family(folders: dict[str, Path], tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    policy = put_on(load_policy(folders["mistral"]), Lora(2, 4.0), place=str(folders["mistral"]), key=KEY)
    learner = AdapterEngine(policy.network, end_ids=policy.end_ids, precision="fp32")
    step(learner)
    save_policy(policy, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = AutoModelForCausalLM.from_pretrained(folders["mistral"])
        theirs: Any = PeftModel.from_pretrained(base, tmp_path)
    ids = torch.tensor([[1, 5, 6, 7, 8, 3]])
    Exact(learner.model, lambda model: {"logits": model.inner(ids).logits}, tokens=6).require(logits=theirs(ids).logits)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 40))
def test_every_row_is_in_one_rectangle_within_the_limit(lengths: list[int], tokens: int) -> None:
    batch = batch_of(*rows_of(lengths))
    size = np.diff(batch.context_at) + np.maximum(batch.lengths - 1, 0)
    chunks = cut_rectangles(batch, tokens=tokens)
    assert sorted(np.concatenate(chunks).tolist()) == list(range(len(lengths)))
    assert all(len(rows) == 1 or len(rows) * size[rows].max() <= tokens for rows in chunks)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--lora", "2")], ids=["whole", "lora"])
def test_a_run_on_another_family(
    more: tuple[str, ...], folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resumed run is the same bit for bit; its result answers, loads and is exported."""
    shell = Shell(capsys)
    model = folders["mistral"]
    reply = shell(*train_line(model, tmp_path / "whole", *more, recipe="sft"))
    assert reply.code == 0, reply.err
    assert "do not run the model family mistral" in reply.err
    step, files, metrics, _ = came_to(tmp_path / "whole")
    assert step == 4
    half = copy_of(tmp_path / "whole", tmp_path / "half")
    shutil.rmtree(half / "ckpt" / "step-00000004")
    assert shell("resume", half).code == 0
    again = came_to(half)
    assert again[0] == 4 and again[1] == files and again[2] == metrics
    trained = load_policy(locate(str(tmp_path / "whole")))
    assert fingerprint(trained) != fingerprint(load_policy(model))
    assert shell("sample", tmp_path / "whole", "12", "--max-new", "4", "--json").code == 0
    assert shell("export", tmp_path / "whole", tmp_path / "out", *(("--merge",) if more else ())).code == 0
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "mistral"
    reply = shell(*train_line(model, tmp_path / "grpo", *more, recipe="grpo"))
    assert reply.code == 0, reply.err
