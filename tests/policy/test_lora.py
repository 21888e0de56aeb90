"""Low-rank adapters: gradients, states, PEFT's files in both directions, and runs that train one."""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    assert_same,
    batch_of,
    exact_scores,
    learn,
    model_of,
    naive,
    naive_log_probs,
    requests_of,
    require_sampled,
    rows_of,
    spans_of,
)
from rounding import Exact
from safetensors.torch import load_file
from small_runs import Shell, came_to, copy_of, make_model, train_line
from typed import as_network, as_ours, present

from assay.engine.interface import Span, Want
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.value_engine import ValueEngine
from assay.errors import StorageError
from assay.lab.export import export
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, load_policy, save_policy
from assay.policy.adapted import attach, merged, own, stored, twin
from assay.policy.adapter_folder import put_on
from assay.policy.lora import Lora
from assay.policy.policy import Policy, base_fingerprint, fingerprint
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.run.named_model import locate

LORA = Lora(rank=3, alpha=5.0)
SOME = Lora(rank=2, alpha=4.0, targets=("q_proj", "v_proj", "down_proj"))
KEY = Key("lora")
LENGTHS = [5, 1, 9, 3, 7, 2]


def spread(model: Transformer, seed: int = 7) -> Transformer:
    """B away from zero, so that the adapter says something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in own(model).items():
            if "lora_B" in name:
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def adapted(family: str = "qwen2", lora: Lora = LORA, **changes: Any) -> Transformer:
    return spread(attach(model_of(family, **changes), lora, key=KEY))


def engine(family: str = "qwen2", lora: Lora = LORA, precision: str = "fp64", **changes: Any) -> TorchEngine:
    model = adapted(family, lora, **changes)
    return TorchEngine(model, end_ids=frozenset({0}), precision=precision)


def tiny(family: str = "qwen2", seed: int = 0) -> Policy:
    tokenizer = character_tokenizer("0123456789+=")
    model = model_of(family, vocab=tokenizer.vocab, seed=seed)
    return Policy(model, tokenizer)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [LORA, SOME], ids=["every", "some"])
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_autograd_and_the_base_has_none(family: str, lora: Lora) -> None:
    learner = engine(family, lora)
    batch = batch_of(*rows_of(LENGTHS), temperature=0.7)
    got = learn(learner, batch, tokens=20)
    assert_same(got, naive(learner, batch))
    assert set(got) == {f"{n}" for n in own(learner.model)} and all(".lora_" in name for name in got)
    assert all(float(grad.abs().max()) > 0 for grad in got.values())


def test_no_matrix_of_a_weights_size_is_made_for_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = engine(lora=Lora(rank=1, alpha=1.0), precision="fp32", hidden=32, heads=4, kv_heads=4, head_dim=8, ffn=48)
    made: list[torch.Size] = []
    zeros = torch.zeros_like

    def watched(tensor: torch.Tensor, **how: Any) -> torch.Tensor:
        made.append(tensor.shape)
        return zeros(tensor, **how)

    monkeypatch.setattr(torch, "zeros_like", watched)
    learn(learner, batch_of(*rows_of(LENGTHS)))
    assert all(p.grad is None for name, p in learner.model.named_parameters() if ".lora_" not in name)
    weights = {tuple(p.shape) for name, p in learner.model.named_parameters() if ".lora_" not in name and p.ndim == 2}
    assert not weights & {tuple(shape) for shape in made}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_sampler_scores_and_learner_are_the_adapted_network(family: str) -> None:
    learner = engine(family, precision="fp32")
    requests = requests_of(max_new=9, temperature=0.8)
    made = learner.generate(requests, Key(7))
    exact = require_sampled(learner, requests, made)
    exact.require(logp=np.concatenate([score.logp for score in learner.score(spans_of(requests, made))]))


def test_an_adapter_begins_as_nothing_and_its_start_is_a_function_of_the_key() -> None:
    plain = TorchEngine(model_of(), end_ids=frozenset({0}), precision="fp32")
    fresh = TorchEngine(attach(model_of(), LORA, key=KEY), end_ids=frozenset({0}), precision="fp32")
    contexts, answers = rows_of([5, 3])
    spans = [Span(c, a) for c, a in zip(contexts, answers)]
    found = np.concatenate([score.logp for score in fresh.score(spans)])
    exact_scores(plain.model, spans).require(logp=found)
    again, other = attach(model_of(), LORA, key=KEY), attach(model_of(), LORA, key=Key("other"))
    first = own(fresh.model)
    assert all(torch.equal(p, own(again)[name]) for name, p in first.items())
    assert not any(torch.equal(p, own(other)[name]) for name, p in first.items() if "lora_A" in name)
    bound = {name: p.shape[1] ** -0.5 for name, p in first.items() if "lora_A" in name}
    assert all(0.5 * b < float(first[name].detach().abs().max()) <= b for name, b in bound.items())


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_only_the_adapter_moves_and_is_saved_and_goes_on_bit_for_bit(precision: str) -> None:
    learner = engine(precision=precision)
    base = {n: p.clone() for n, p in learner.model.named_parameters() if ".lora_" not in n}
    assert {p.dtype for p in base.values()} == {torch.bfloat16 if precision == "bf16" else torch.float32}
    batch = batch_of(*rows_of(LENGTHS))

    def step(of: TorchEngine) -> None:
        for chunk in of.chunks(batch, tokens=100):
            out = of.forward(chunk, Want())
            (chunk.streams["advantage"] * out.logp).sum().backward()
            of.backward(chunk, out)
        assert of.step(lr=1e-2, clip=1.0)["skipped"] == 0

    step(learner)
    state = learner.state()
    names = {name for name in state if name.startswith("parameter/")}
    assert names == {f"parameter/base_model.model.{name}" for name in own(learner.model)}
    moments = [name for name in state if name.startswith("optimiser/exp_avg/")]
    assert len(moments) == len(names) and all(".lora_" in name for name in moments)
    assert sum(v.numel() for v in present(learner.optimiser).own.vectors.values()) < 5 * sum(
        p.numel() for p in own(learner.model).values()
    )
    step(learner)
    other = engine(precision=precision)
    other.load(copy.deepcopy(state))
    step(other)
    for name, value in learner.state().items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(other.state()[name])), name
    assert all(torch.equal(p, base[n]) for n, p in learner.model.named_parameters() if n in base)
    with pytest.raises(StorageError, match="no fitting"):
        TorchEngine(model_of(), end_ids=frozenset()).load(state)


def test_a_twin_shares_the_base_and_stays_behind() -> None:
    learner = engine(precision="fp32")
    behind = learner.copy()
    for name, parameter in behind.model.named_parameters():
        shared = parameter.data_ptr() == learner.model.get_parameter(name).data_ptr()
        assert shared == (".lora_" not in name), name
    ours, theirs = learner.network.layers[0], behind.network.layers[0]
    assert ours.qkv.weight.data_ptr() == theirs.qkv.weight.data_ptr()
    assert ours.qkv.weight.data_ptr() == learner.model.model.layers[0].self_attn.q_proj.weight.data_ptr()
    contexts, answers = rows_of([6])
    (before,) = behind.score([Span(contexts[0], answers[0])])
    for parameter in own(learner.model).values():
        parameter.grad = torch.ones_like(parameter)
    learner.step(lr=0.1, clip=None)
    (after,), (moved,) = (e.score([Span(contexts[0], answers[0])]) for e in (behind, learner))
    np.testing.assert_array_equal(before.logp, after.logp)
    assert np.abs(moved.logp - after.logp).max() > 1e-3


def test_a_critic_has_an_adapter_and_a_head() -> None:
    critic = ValueEngine(adapted(), end_ids=frozenset({0}), precision="fp64")
    (chunk,) = critic.chunks(batch_of(*rows_of(LENGTHS)), tokens=1000)
    out = critic.forward(chunk, Want(value=True))
    (present(out.value) * chunk.streams["advantage"]).sum().backward()
    critic.backward(chunk, out)
    assert float(present(critic.value_head.weight.grad).abs().max()) > 0
    critic.step(lr=0.1, clip=None)
    assert {"parameter/value_head.weight", "parameter/value_head.bias"} <= set(critic.state())
    assert all(p.grad is None for n, p in critic.model.named_parameters() if n in critic.model.base_names)


@pytest.mark.parametrize("family", FAMILIES)
def test_merged_weights_compute_the_same(family: str) -> None:
    model = adapted(family).double()
    plain = model_of(family).double()
    plain.load_state_dict({**plain.state_dict(), **merged(model)})
    contexts, answers = rows_of([7])
    ours, theirs = (naive_log_probs(m, contexts[0], answers[0]) for m in (model, plain))
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def peft_logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), folder)
    return hf_logits(model, ids)


def hf_logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    return model.double().eval()(ids[None]).logits[0].detach()


def our_logits(policy: Policy, ids: torch.Tensor) -> torch.Tensor:
    """In 64 bits, as `hf_logits`: in 32 bits two orders of addition differ by more than two formulas may."""
    from engine_cases import naive_logits

    return naive_logits(as_ours(copy.deepcopy(policy.network)).double(), ids.numpy()).detach()


def exact_logits(policy: Policy, ids: torch.Tensor) -> Exact:
    from engine_cases import naive_logits

    return Exact(policy.network, lambda model: {"logits": naive_logits(model, ids.numpy())}, tokens=len(ids))


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("lora", [LORA, SOME], ids=["every", "some"])
@pytest.mark.parametrize("family", FAMILIES)
def test_peft_loads_our_adapter(family: str, lora: Lora, tmp_path: Path) -> None:
    save_policy(tiny(family), tmp_path / "base")
    policy = put_on(load_policy(tmp_path / "base"), lora, place=str(tmp_path / "base"), key=KEY)
    spread(as_ours(policy.network))
    save_policy(policy, tmp_path / "adapter")
    ids = torch.tensor([1, 5, 6, 7, 8, 3])
    ours = our_logits(policy, ids)
    exact_logits(policy, ids).require(logits=peft_logits(tmp_path / "adapter", ids))  # its norms are in fp32
    assert (ours - our_logits(load_policy(tmp_path / "base"), ids)).abs().max() > 0.1
    again = load_policy(tmp_path / "adapter")
    assert torch.equal(our_logits(again, ids), ours)
    assert again.base == policy.base and again.network.lora == policy.network.lora
    assert fingerprint(again) == fingerprint(policy) != base_fingerprint(again)
    assert base_fingerprint(again) == fingerprint(load_policy(tmp_path / "base"))


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"use_rslora": True}, {"target_modules": "all-linear"}], ids=["some", "rs", "all"])
def test_our_transformer_loads_pefts_adapter(how: dict[str, Any], tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    save_policy(tiny("qwen3"), tmp_path / "base")
    values = {"r": 4, "lora_alpha": 6, "target_modules": ["k_proj", "up_proj"], "lora_dropout": 0.1, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
        model: Any = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", **values))
        generator = torch.Generator().manual_seed(1)
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.data = 0.3 * torch.randn(parameter.shape, generator=generator)
        model.save_pretrained(tmp_path / "adapter")
    ids = torch.tensor([1, 5, 6, 7, 8, 3])
    policy = load_policy(tmp_path / "adapter")
    exact = exact_logits(policy, ids)
    exact.require(logits=hf_logits(model, ids))
    save_policy(policy, tmp_path / "merged", merge=True)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    exact.require(logits=hf_logits(plain, ids))


def test_names_in_files_are_those_of_the_network() -> None:
    assert set(stored(model_of("llama"))) == {name for name, _ in model_of("llama").named_parameters()}
    assert twin(model_of()).base_names == frozenset()


@pytest.mark.slow
def test_a_run_with_an_adapter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Checkpoints hold the adapter alone; a resumed run is the same bit for bit; the result loads and merges."""
    shell, base = Shell(capsys), make_model(tmp_path / "base")
    line = train_line(base, tmp_path / "whole", "--lora", "4", recipe="sft")
    reply = shell(*line)
    assert reply.code == 0, reply.err
    step, files, metrics, _ = came_to(tmp_path / "whole")
    assert step == 4 and "policy/adapter_model.safetensors" in files and "policy/model.safetensors" not in files
    tensors = load_file(Path(locate(str(tmp_path / "whole"))) / "adapter_model.safetensors")
    assert tensors and all(".lora_" in name for name in tensors)
    assert any(float(tensor.abs().max()) > 0 for name, tensor in tensors.items() if "lora_B" in name)
    half = copy_of(tmp_path / "whole", tmp_path / "half")
    shutil.rmtree(half / "ckpt" / "step-00000004")
    assert shell("resume", half).code == 0
    again = came_to(half)
    assert again[0] == 4 and again[1] == files and again[2] == metrics
    trained = load_policy(locate(str(tmp_path / "whole")))
    assert trained.base is not None and trained.base.place == str(base)
    export(str(tmp_path / "whole"), tmp_path / "merged", merge=True)
    ids = torch.tensor([1, 5, 6, 7, 8, 3])
    exact_logits(trained, ids).require(logits=our_logits(load_policy(tmp_path / "merged"), ids))
    reply = shell("sample", tmp_path / "whole", "12", "--n", "2", "--max-new", "4", "--json")
    assert reply.code == 0 and len(reply.document["answers"]) == 2
    more = shell(*train_line(Path(locate(str(tmp_path / "whole"))), tmp_path / "more"))
    assert more.code == 0, more.err
    assert (Path(locate(str(tmp_path / "more"))) / "adapter_model.safetensors").exists()


@pytest.mark.slow
def test_the_reference_under_an_adapter_is_the_policy_at_its_start(tmp_path: Path) -> None:
    from assay.known import RECIPES
    from assay.run.loading import build_models, load_model, with_adapter
    from assay.run.session import plan
    from assay.source import Pool, Share

    base = make_model(tmp_path / "base")
    settings = {"lora.rank": "4", "machine.precision": "fp32"}
    experiment, _ = plan(RECIPES["grpo"], model=str(base), pool=Pool((Share("countdown", (3,)),)), overrides=settings)
    policy = with_adapter(experiment, load_model(experiment))
    models = build_models(experiment, policy)
    assert set(models) == {"policy", "reference"}
    spans = [Span(np.array([1, 5, 6], np.int32), np.array([7, 8], np.int32))]
    (one,), (two,) = models["policy"].score(spans), models["reference"].score(spans)
    np.testing.assert_array_equal(one.logp, two.logp)
    names = [n for n, _ in as_network(models["policy"]).model.named_parameters() if ".lora_" not in n]
    pairs = [(as_network(models[m]).model.get_parameter(n).data_ptr() for m in ("policy", "reference")) for n in names]
    assert all(a == b for a, b in pairs)


def test_fresh_policies_have_no_adapter() -> None:
    shape = PolicyConfig("qwen2", 17, 16, 1, 2, 2, 8, 32, 64, attention_bias=True)
    made = fresh_policy(shape, character_tokenizer("0123456789+=-"), key=Key(0))
    assert made.network.lora is None and made.base is None
