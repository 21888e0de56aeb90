"""The beginnings of the policy's own best answers are further problems, from which it goes on."""

from assay.curate import MixedGroups, OwnTokens
from assay.methods.exploration.rest_rl.own_beginnings import OwnBeginnings
from assay.recipe import Like

REST_RL = Like(
    "grpo",
    name="rest-rl",
    title="ReST-RL: Achieving Accurate Code Reasoning of LLMs with Optimized Self-Training and Decoding",
    paper="2508.19576",
    claim="problems whose answers differ in reward, and the beginnings of their best answers as further problems, make "
    "GRPO better on APPS, BigCodeBench and HumanEval than GRPO and ReST-DPO",
    missing="VM-MCTS, the search with a value model when answering, and the small rewards for a proper end",
    changes={
        "tasks": ("search-stream", "programs", "trace"),
        "mechanism.expand": (OwnBeginnings(spread=0.05, best=0.9, share=0.5, decay=0.95),),
        "mechanism.curate": (OwnTokens(), MixedGroups(by="reward")),
        "scale.group_size": 8,
        "scale.learning_rate": 1e-7,
    },
    notes=(
        "The least spread 0.05, the least reward 0.9 of a best answer, half as many beginnings as it has lines, drawn "
        "with weights 0.95^(i-1) and replacement, 8 answers and the rate are those of the published code.",
        "There beginnings are written to a file once, from answers sampled at temperature 0.7 before the training; "
        "here each step takes them from its own answers, so that they are never stale, and those answers train too.",
        "An answer to a beginning is compared with the other answers to it, and trains on what it wrote itself. The "
        "whole of a best answer is no beginning: nothing would be left to write.",
        "Lines end at ',' and '|' in compact wording (mechanism.expand.0.marks). An answer of K lines costs K / 2 "
        "groups more: compare at equal tokens (`--scale.num-tokens`). Clip and KL are those of `grpo`.",
    ),
)
