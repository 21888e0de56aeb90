#!/usr/bin/env bash
# A script that starts verl, which `assay train --config` takes as it is: it reads the settings, and runs nothing.
set -x

MODEL=${MODEL:-Qwen/Qwen2.5-0.5B-Instruct}
BATCH=64

python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=examples/word_problems.jsonl \
    data.train_batch_size=$BATCH \
    data.max_prompt_length=512 \
    data.max_response_length=1024 \
    actor_rollout_ref.model.path=${MODEL} \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=$((BATCH / 2)) \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.actor.kl_loss_coef=0.001 \
    actor_rollout_ref.actor.kl_loss_type=low_var_kl \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \
    actor_rollout_ref.rollout.n=8 \
    trainer.logger='["console"]' \
    trainer.n_gpus_per_node=1 \
    trainer.test_freq=5 \
    trainer.total_training_steps=40 "$@"
