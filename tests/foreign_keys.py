"""The keys of other trainers as they published them, values that each may have, and whole files of theirs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data" / "foreign"
LISTS = {
    "trl_own": "trl",
    "trl_inherited": "trl",
    "verl": "verl",
    "openrlhf": "openrlhf",
    "prime_rl": "prime_rl",
}
"""List of published keys -> the table that answers them."""
ACTOR, ROLLOUT, MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"


def published(name: str) -> list[str]:
    """The keys of a list."""
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


BASES: dict[str, dict[str, Any]] = {
    "trl": {"model_name_or_path": "some/model", "dataset_name": "some/rows", "max_steps": 40},
    "verl": {
        f"{MODEL}.path": "some/model",
        "data.train_files": "some/rows",
        "trainer.total_training_steps": 40,
        "algorithm.adv_estimator": "grpo",
        f"{ROLLOUT}.n": 5,
    },
    "openrlhf": {
        "actor.model_name_or_path": "some/model",
        "data.prompt_dataset": "some/rows",
        "algo.advantage.estimator": "group_norm",
        "rollout.n_samples_per_prompt": 8,
    },
    "prime_rl": {
        "model.name": "some/model",
        "orchestrator.train.source.0.env.taskset.id": "countdown:3",
        "max_steps": 40,
        "orchestrator.group_size": 16,
    },
}
"""The least that a file of each system says."""

BESIDE: dict[str, dict[str, Any]] = {  # key, or a beginning of it -> what it needs beside itself to act
    "lora_": {"use_peft": True},
    "use_peft": {},
    "vllm_importance_sampling_clip_min": {"use_vllm": True, "vllm_importance_sampling_mode": "token_mask"},
    "vllm_importance_sampling_": {"use_vllm": True},
    "entropy_coef_": {"use_adaptive_entropy": True},
    "entropy_target": {"use_adaptive_entropy": True},
    "ref_model_": {"sync_ref_model": True, "beta": 0.1},
    "sync_ref_model": {"beta": 0.1},
    "use_bias_correction_kl": {"beta": 0.1},
    "sapo_": {"loss_type": "sapo"},
    "importance_sampling_level": {"loss_type": "grpo"},
    "reward_weights": {"reward_funcs": ["my.one", "my.two"]},
    "eval_steps": {"eval_strategy": "steps"},
    "dataset_test_split": {"eval_strategy": "steps", "eval_steps": 4},
    "num_train_epochs": {"max_steps": -1, "dataset_name": "ROWS"},
    "save_strategy": {"save_steps": 20},
    "steps_per_generation": {},
    f"{ACTOR}.kl_loss_": {f"{ACTOR}.use_kl_loss": True},
    "algorithm.kl_": {"algorithm.use_kl_in_reward": True},
    f"{ACTOR}.tau_": {f"{ACTOR}.policy_loss.loss_mode": "sapo"},
    f"{ACTOR}.policy_loss.clip_cov": {f"{ACTOR}.policy_loss.loss_mode": "clip_cov"},
    f"{ACTOR}.loss_scale_factor": {f"{ACTOR}.loss_agg_mode": "seq-mean-token-sum-norm"},
    f"{ACTOR}.clip_ratio": {f"{ACTOR}.clip_ratio_low": None},
    f"{ROLLOUT}.val_kwargs.temperature": {f"{ROLLOUT}.val_kwargs.do_sample": True},
    f"{ROLLOUT}.val_kwargs.do_sample": {f"{ROLLOUT}.val_kwargs.temperature": 0.7},
    f"{MODEL}.lora_alpha": {f"{MODEL}.lora_rank": 8},
    f"{MODEL}.target_modules": {f"{MODEL}.lora_rank": 8},
    f"{MODEL}.lora.alpha": {f"{MODEL}.lora.rank": 8},
    "algorithm.filter_groups.m": {"algorithm.filter_groups.enable": True},
    "data.gen_batch_size": {"algorithm.filter_groups.enable": True},
    "algorithm.rollout_correction.rollout_is_": {"algorithm.rollout_correction.rollout_is": "token"},
    "algorithm.rollout_correction.rollout_rs": {
        "algorithm.rollout_correction.rollout_rs": "seq_mean_k3",
        "algorithm.rollout_correction.rollout_rs_threshold": "0.01",
    },
    "reward.custom_reward_function.name": {"reward.custom_reward_function.path": "my.py"},
    "custom_reward_function.name": {"custom_reward_function.path": "my.py"},
    "reward.reward_kwargs.": {
        "reward.reward_kwargs.overlong_buffer_cfg.enable": True,
        "reward.reward_kwargs.overlong_buffer_cfg.len": 100,
    },
    "reward_model.reward_kwargs.": {
        "reward_model.reward_kwargs.overlong_buffer_cfg.enable": True,
        "reward_model.reward_kwargs.overlong_buffer_cfg.len": 100,
    },
    "data.train_max_samples": {
        "trainer.total_training_steps": None,
        "data.train_files": "ROWS",
        "data.train_batch_size": 4,
        f"{ACTOR}.ppo_mini_batch_size": 4,
    },
    "trainer.total_epochs": {"trainer.total_training_steps": None, "data.train_files": "ROWS"},
    "data.max_samples": {
        "data.prompt_dataset": "ROWS",
        "data.input_key": "prompt",
        "rollout.batch_size": 4,
        "train.batch_size": 8,
    },
    "train.num_episodes": {"data.prompt_dataset": "ROWS", "data.input_key": "prompt"},
    "actor.lr_warmup_ratio": {"data.prompt_dataset": "ROWS", "data.input_key": "prompt"},
    "algo.kl.": {"algo.kl.init_coef": 0.1},
    "algo.advantage.no_std_norm": {"algo.advantage.estimator": "reinforce_baseline"},
    "algo.advantage.is_correction_": {"algo.advantage.is_correction_enable": True},
    "algo.dynamic_filtering_range": {"algo.dynamic_filtering_enable": True},
    "reward.overlong_penalty_factor": {"reward.overlong_buffer_len": 100},
    "train.async_queue_size": {"train.async_enable": True},
    "train.partial_rollout_enable": {"train.async_enable": True},
    "ds.lora.": {"ds.lora.rank": 8},
    "eval.split": {"eval.dataset": "some/held"},
    "orchestrator.seq_len": {},
    "trainer.model.lora.": {"trainer.model.lora.rank": 8},
    "trainer.model.name": {"model.name": None},
    "trainer.scheduler.warmup_steps": {"trainer.scheduler.type": "cosine"},
    "trainer.scheduler.type": {"trainer.scheduler.decay_steps": 30},
    "trainer.scheduler.decay_steps": {"trainer.scheduler.type": "linear"},
    "orchestrator.train.source[].env.taskset.dataset_": {
        "orchestrator.train.source.0.env.taskset.id": "math-env",
        "orchestrator.train.source.0.env.taskset.dataset_name": "some/rows",
    },
    "orchestrator.eval.": {"orchestrator.eval.interval": 7},
}

VALUES: dict[str, Any] = {  # key -> a value that differs from the default, where none can be guessed
    "generation_kwargs": {"top_k": 7},
    "chat_template_kwargs": {"enable_thinking": False},
    "model_init_kwargs": {"dtype": "bfloat16"},
    "reward_weights": [1.0, 0.5],
    "reward_funcs": ["my.function"],
    "loss_type": "dr_grpo",
    "importance_sampling_level": "sequence",
    "multi_objective_aggregation": "normalize_then_sum",
    "vllm_importance_sampling_mode": "token_mask",
    "scale_rewards": "batch",
    "datasets": [{"path": "other/rows"}],
    "test_split_size": 0.1,
    "eval_strategy": "steps",
    "save_strategy": "epoch",
    "report_to": "tensorboard",
    "lora_target_modules": ["q_proj"],
    "num_generations": 4,
    "num_processes": 2,
    "generation_batch_size": 16,
    "steps_per_generation": 2,
    "warmup_ratio": 0.1,
    "max_steps": 20,
    "top_entropy_quantile": 0.2,
    "bf16": False,
    "data.val_files": "some/held",
    "data.prompt_key": "question",
    "data.train_batch_size": 512,
    "data.gen_batch_size": 2048,
    "data.apply_chat_template_kwargs.*": "true",
    f"{MODEL}.target_modules": ["q_proj"],
    f"{MODEL}.lora_adapter_path": "my/adapter",
    f"{ACTOR}.ppo_mini_batch_size": 512,
    f"{ACTOR}.optim.betas": [0.9, 0.95],
    f"{ACTOR}.optim.lr_scheduler_type": "cosine",
    f"{ACTOR}.optim.warmup_style": "cosine",
    f"{ACTOR}.optim.lr_decay_style": "cosine",
    f"{ACTOR}.optim.lr_warmup_steps": 7,
    f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.1,
    f"{ACTOR}.policy_loss.loss_mode": "cispo",
    f"{ACTOR}.loss_agg_mode": "seq-mean-token-mean",
    f"{ACTOR}.loss_scale_factor": 100,
    f"{ACTOR}.kl_loss_type": "k2",
    f"{ACTOR}.clip_ratio": 0.3,
    "algorithm.kl_penalty": "k3",
    "algorithm.adv_estimator": "rloo",
    "algorithm.filter_groups.metric": "seq_reward",
    "algorithm.rollout_correction.rollout_is": "token",
    "algorithm.rollout_correction.rollout_rs": "seq_mean_k2",
    "algorithm.rollout_correction.rollout_rs_threshold": "0.02",
    "reward.custom_reward_function.path": "my.py",
    "reward.custom_reward_function.name": "score",
    "custom_reward_function.path": "my.py",
    "custom_reward_function.name": "score",
    "reward.reward_manager.name": "my_manager",
    "reward_model.reward_manager": "my_manager",
    "trainer.logger": ["console", "wandb"],
    "trainer.total_training_steps": 20,
    "trainer.test_freq": 5,
    "trainer.device": "cpu",
    f"{ROLLOUT}.top_k": 20,
    f"{ROLLOUT}.val_kwargs.temperature": 0.5,
    "data.prompt_split": "test",
    "data.label_key": "label",
    "data.train_max_samples": 20,
    "data.max_samples": 20,
    "eval.dataset": "some/held",
    "eval.split": "test",
    "eval.steps": 5,
    "rollout.n_samples_per_prompt": 16,
    "rollout.batch_size": 512,
    "train.batch_size": 1024,
    "actor.adam.betas": [0.9, 0.999],
    "actor.lr_scheduler": "constant",
    "actor.policy_loss_type": "gspo",
    "actor.eps_clip_low_high": [0.2, 0.27],
    "algo.kl.estimator": "k3",
    "algo.advantage.estimator": "dr_grpo",
    "algo.advantage.is_correction_type": "icepop",
    "algo.advantage.is_correction_threshold": [0.5, 2.0],
    "algo.dynamic_filtering_range": [0.2, 0.8],
    "reward.remote_url": "my.py",
    "reward.stop_properly_penalty_coef": 0.5,
    "ds.lora.target_modules": ["q_proj"],
    "ckpt.save_steps": 20,
    "logger.tensorboard_dir": "here",
    "logger.wandb.key": "KEY",
    "orchestrator.algo.type": "max_rl",
    "orchestrator.batch_size": 256,
    "orchestrator.group_size": 8,
    "orchestrator.train.sampling.extra_body.chat_template_kwargs.*": True,
    "orchestrator.train.source[].curriculum.gates.*": "advantage_range",
    "orchestrator.train.source[].env.taskset.id": "mod-chain:2",
    "orchestrator.train.source[].env.taskset.dataset_name": "other/rows",
    "orchestrator.train.source[].env.taskset.dataset_subset": "main",
    "orchestrator.train.source[].env.taskset.dataset_split": "test",
    "trainer.loss.type": "ipo",
    "trainer.optim.type": "muon",
    "orchestrator.train.source[].ratio": 0.5,
    "trainer.scheduler.type": "cosine",
    "trainer.model.lora.target_modules": ["q_proj"],
    "orchestrator.eval.num_examples": 20,
    "monitors.wandb.project": "mine",
}


def beside(key: str) -> dict[str, Any]:
    """What a key needs beside itself to act, by its longest beginning."""
    begin = max((begin for begin in BESIDE if key.startswith(begin)), key=len, default="")
    return {name: value for name, value in BESIDE.get(begin, {}).items() if name != key}


def written(key: str) -> str:
    """A key of a table as a file has it: the first item of a list, and a name for a group."""
    gate = key.replace("gates.*", "gates.zero.type")
    return gate.replace("[]", ".0").replace(".*", ".enable_thinking")


# Whole files, as facts: the keys and values of a published script, with model and data to be put in.

TRL_FILE: dict[str, Any] = {  # the command of examples/scripts/grpo_agent.py, as a file for `trl grpo`
    "model_name_or_path": "MODEL",
    "dataset_name": "TRAIN",
    "reward_funcs": ["accuracy_reward"],
    "output_dir": "grpo_biogrid_qwen_3g-1.7b",
    "push_to_hub": True,
    "use_vllm": True,
    "vllm_mode": "colocate",
    "max_completion_length": 1024,
    "report_to": "trackio",
    "log_completions": True,
    "max_steps": 400,
}
TRL_IDLE = {"push_to_hub", "vllm_mode", "log_completions"}

VERL_FILE = {  # examples/grpo_trainer/run_qwen3_4b_fsdp.sh, with the defaults of its variables
    "algorithm.adv_estimator": "grpo",
    "data.train_files": "TRAIN",
    "data.val_files": "TEST",
    "data.train_batch_size": "512",
    "data.max_prompt_length": "1024",
    "data.max_response_length": "1024",
    "data.filter_overlong_prompts": "True",
    "data.truncation": "'error'",
    "algorithm.use_kl_in_reward": "False",
    f"{MODEL}.path": "MODEL",
    f"{MODEL}.use_remove_padding": "True",
    f"{MODEL}.enable_gradient_checkpointing": "True",
    f"{ACTOR}.optim.lr": "1e-6",
    f"{ACTOR}.ppo_mini_batch_size": "256",
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": "2",
    f"{ACTOR}.use_kl_loss": "True",
    f"{ACTOR}.kl_loss_coef": "0.001",
    f"{ACTOR}.kl_loss_type": "low_var_kl",
    f"{ACTOR}.entropy_coeff": "0",
    f"{ACTOR}.fsdp_config.param_offload": "False",
    f"{ACTOR}.fsdp_config.optimizer_offload": "False",
    f"{ACTOR}.ppo_max_token_len_per_gpu": "3000",
    f"{ACTOR}.use_dynamic_bsz": "True",
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": "2",
    f"{ROLLOUT}.tensor_model_parallel_size": "2",
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.gpu_memory_utilization": "0.6",
    f"{ROLLOUT}.enable_chunked_prefill": "False",
    f"{ROLLOUT}.enforce_eager": "False",
    f"{ROLLOUT}.free_cache_engine": "True",
    f"{ROLLOUT}.log_prob_use_dynamic_bsz": "True",
    f"{ROLLOUT}.log_prob_max_token_len_per_gpu": "4096",
    f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes": "4096",
    f"{ROLLOUT}.n": "5",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": "2",
    "actor_rollout_ref.ref.fsdp_config.param_offload": "True",
    "actor_rollout_ref.ref.log_prob_use_dynamic_bsz": "True",
    "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu": "8192",
    "trainer.critic_warmup": "0",
    "trainer.logger": """'["console","wandb"]'""",
    "trainer.project_name": "verl_grpo_example_geo3k",
    "trainer.experiment_name": "glm41v_9b_function_rm",
    "trainer.n_gpus_per_node": "8",
    "trainer.nnodes": "1",
    "trainer.save_freq": "20",
    "trainer.test_freq": "5",
    "trainer.total_epochs": "15",
    "ray_kwargs.ray_init.runtime_env.py_executable": "null",
}
VERL_OURS = {
    "algorithm.adv_estimator",
    "data.train_files",
    "data.val_files",
    "data.train_batch_size",
    "data.max_response_length",
    "data.filter_overlong_prompts",
    "algorithm.use_kl_in_reward",
    f"{MODEL}.path",
    f"{MODEL}.enable_gradient_checkpointing",
    f"{ACTOR}.optim.lr",
    f"{ACTOR}.ppo_mini_batch_size",
    f"{ACTOR}.use_kl_loss",
    f"{ACTOR}.kl_loss_coef",
    f"{ACTOR}.kl_loss_type",
    f"{ACTOR}.entropy_coeff",
    f"{ROLLOUT}.n",
    "trainer.logger",
    "trainer.project_name",
    "trainer.experiment_name",
    "trainer.save_freq",
    "trainer.test_freq",
    "trainer.total_epochs",
}

OPENRLHF_FILE: dict[str, str] = {  # examples/scripts/train_dapo_ray_hybrid_engine.sh; empty: a switch
    "ref.num_nodes": "1",
    "ref.num_gpus_per_node": "8",
    "actor.num_nodes": "1",
    "actor.num_gpus_per_node": "8",
    "vllm.num_engines": "4",
    "vllm.tensor_parallel_size": "2",
    "train.colocate_all": "",
    "vllm.gpu_memory_utilization": "0.6",
    "algo.kl.init_coef": "1e-3",
    "algo.advantage.gamma": "1.0",
    "algo.kl.use_loss": "",
    "algo.kl.estimator": "k3",
    "algo.advantage.estimator": "group_norm",
    "algo.dynamic_filtering_enable": "",
    "algo.dynamic_filtering_range": "0 1",
    "actor.eps_clip_low_high": "0.2 0.27",
    "actor.model_name_or_path": "MODEL",
    "reward.remote_url": "REWARD",
    "ckpt.output_dir": "final/llama3-8b-rlhf",
    "ckpt.path": "ckpt/llama3-8b-rlhf",
    "ckpt.save_steps": "20",
    "ckpt.save_hf": "",
    "train.micro_batch_size": "8",
    "train.batch_size": "128",
    "rollout.micro_batch_size": "16",
    "rollout.batch_size": "128",
    "rollout.n_samples_per_prompt": "8",
    "train.max_epochs": "1",
    "data.max_len": "2048",
    "data.max_samples": "20000",
    "ds.zero_stage": "3",
    "ds.param_dtype": "bf16",
    "actor.adam.lr": "5e-7",
    "data.prompt_dataset": "TRAIN",
    "data.input_key": "prompt",
    "data.apply_chat_template": "",
    "actor.gradient_checkpointing_enable": "",
    "ds.packing_samples": "",
    "vllm.sync_backend": "nccl",
    "vllm.enforce_eager": "",
    "vllm.enable_sleep": "",
    "ds.enable_sleep": "",
    "algo.advantage.is_correction_enable": "",
}
OPENRLHF_IDLE = {
    *(
        key
        for key in OPENRLHF_FILE
        if key.startswith(("ref.", "vllm.", "actor.num_")) or key.endswith("micro_batch_size")
    ),
    "train.colocate_all",
    "algo.advantage.gamma",
    "ckpt.path",
    "ckpt.save_hf",
    "ds.zero_stage",
    "ds.packing_samples",
    "ds.enable_sleep",
    "data.apply_chat_template",
}

PRIME_FILE = """max_steps = 20
seq_len = 2048

[model]
name = "MODEL"

[monitors.wandb]
project = "reverse-text"
name = "reverse-text"

[orchestrator]
batch_size = 128
group_size = 16

[orchestrator.train.sampling]
max_completion_tokens = 128

[[orchestrator.train.source]]
name = "reverse-text"

[orchestrator.train.source.env.taskset]
id = "math-env"
dataset_name = "TRAIN"

[orchestrator.train.source.env.agent.harness]
id = "null"

[orchestrator.train.source.env.agent.runtime]
type = "subprocess"

[trainer.optim]
lr = 3e-6

[ckpt]

[inference]

[orchestrator.renderer]
name = "prime-qwen3"
"""
"""The settings of examples/basic/reverse-text/rl.toml, with rows in place of its task."""
PRIME_IDLE = {
    "seq_len",
    "orchestrator.train.source.0.name",
    "orchestrator.train.source.0.env.agent.harness.id",
    "orchestrator.train.source.0.env.agent.runtime.type",
    "ckpt",
    "inference",
}


def filled(text: str, places: Mapping[str, Path | str]) -> str:
    """A file with model, data and reward in their places."""
    for name, place in places.items():
        text = text.replace(name, str(place))
    return text


def write_trl(folder: Path, places: Mapping[str, Path | str]) -> Path:
    path = folder / "grpo.yaml"
    lines = [f"{key}: {json.dumps(value)}" for key, value in TRL_FILE.items()]
    path.write_text(filled("\n".join(lines) + "\n", places))
    return path


def write_verl(folder: Path, places: Mapping[str, Path | str]) -> Path:
    """The settings in two arrays, some by variables, as the script has them."""
    path, rows = folder / "run_grpo.sh", [f"    {key}={value}" for key, value in VERL_FILE.items()]
    half = len(rows) // 2
    rows[half] = rows[half].rpartition("=")[0] + "=${HALF}"
    value = list(VERL_FILE.values())[half]
    head = ["#!/usr/bin/env bash", "set -xeuo pipefail", f"HALF=${{HALF:-{value}}}  # a default", "EXTRA=()"]
    head += ['if [ "${USE_UV:-1}" != 0 ]; then', "    EXTRA=(trainer.nnodes=4)", "fi"]
    head += ["LAUNCH=(uv run --frozen python3)", "FIRST=(", *rows[:half], ")", "SECOND=(", *rows[half:], ")"]
    call = ['"${LAUNCH[@]}" -m verl.trainer.main_ppo \\', '    "${FIRST[@]}" \\', '    "${SECOND[@]}" \\', '    "$@"']
    path.write_text(filled("\n".join([*head, *call]) + "\n", places))
    return path


def write_openrlhf(folder: Path, places: Mapping[str, Path | str]) -> Path:
    path = folder / "train_dapo.sh"
    rows = [f"   --{key} {value}".rstrip() for key, value in OPENRLHF_FILE.items()]
    text = " \\\n".join(["set -x\n\npython3 -m openrlhf.cli.train_ppo_ray", *rows]) + "\n\n# You could also try\n"
    path.write_text(filled(text, places))
    return path


def write_prime(folder: Path, places: Mapping[str, Path | str]) -> Path:
    path = folder / "rl.toml"
    path.write_text(filled(PRIME_FILE, places))
    return path
