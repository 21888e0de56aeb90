"""Answers grow as a tree of short segments; each segment trains once, with the value that it adds as its credit."""

from assay.curate import UnsureTokens
from assay.methods.baselines.spo_tree.branching import FirstBranches, GrowBranches
from assay.methods.baselines.spo_tree.edges import Edges, EdgeValues
from assay.recipe import Like

SPO_TREE = Like(
    "vine-ppo",
    name="spo-tree",
    title="Segment Policy Optimization: Effective Segment-Level Credit Assignment in RL for Large Language Models",
    paper="2505.23564",
    claim="values of segments from a tree of answers, every token of which trains, in place of continuations that are "
    "thrown away: better than GRPO on MATH500 with long answers at an equal time",
    missing="the buffer that keeps edges for up to eight steps: here the edges of a step train in this step alone",
    changes={
        "mechanism.ask": (FirstBranches(levels=3, depth=35, least=4),),
        "mechanism.expand": (GrowBranches(levels=3),),
        "mechanism.curate": (Edges(most=32), UnsureTokens(below=0.9)),
        "mechanism.credit": EdgeValues(),
        "scale.num_prompts": 16,
        "scale.group_size": 216,
        "scale.num_minibatches": 8,
        "scale.num_epochs": 1,
        "scale.warmup_steps": 240,
    },
    notes=(
        "Three levels of six branches, segments of 30 of 1024 tokens (the last one to the end), 16 questions, at most "
        "32 edges of a question in a step, each used once, and the mask of tokens of a probability of 0.9 or more are "
        "those of the configuration for GSM8K. Eight updates a step are its 1024 edges in batches of 128.",
        "A group of another size has branches that are as equal as its size allows: 8 answers are 2 x 2 x 2, of whose "
        "14 edges all that add something train.",
        "Rows are leaves, and the segment that several leaves share trains in the first of them. At a mean over tokens "
        "this is the gradient of edges.",
        "The value of a place is the mean of the values of its branches, not of its leaves. Both differ where a branch "
        "ends early.",
        "Edges that add nothing are left out of the mean. Advantages are whitened over the tokens that train, as those "
        "of `vine-ppo`: over the branches of a place they add up to 0 already, so that this decides how large they are "
        "beside the KL. `--mechanism.shape none` leaves them as they are. Clip, KL and sampling are those of "
        "`vine-ppo`; the warm-up is 3 % of the 8,000 updates of the release.",
    ),
)
