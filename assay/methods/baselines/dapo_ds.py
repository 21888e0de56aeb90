"""Dynamic sampling alone: problems are drawn until enough groups have right and wrong answers, and only these train."""

from assay.collect import Refill
from assay.curate import FirstGroups, MixedGroups
from assay.recipe import Like

DAPO_DS = Like(
    "grpo",
    name="dapo-ds",
    title="DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
    paper="2503.14476",
    claim="dynamic sampling alone takes DAPO from 42 to 50 on AIME 2024",
    changes={
        "mechanism.expand": (Refill(max_rounds=10, wanted="mixed"),),
        "mechanism.curate": (MixedGroups(by="accuracy"), FirstGroups()),
        "scale.oversample": 3,
    },
    notes=(
        "GRPO with all its values, and DAPO's dynamic sampling: so the two arms differ in this alone. Ten rounds of "
        "three times the prompts are those of DAPO's 32B recipe; the gain of 42 to 50 is from memory.",
        "A group is kept if its raw accuracy varies, whatever shaped rewards say. Groups beyond num_prompts are "
        "dropped; with `take-turns` and `keep-leftovers` in place of `first-groups` they train in the next step.",
        "Without `expand` uniform groups are only dropped: then the batch shrinks as the policy learns.",
        "A step that refills generates more tokens. Compare at equal tokens too (`assay compare --budget tokens=2e6`).",
    ),
    deviations=(
        "When the cap of sampling rounds is reached, the step trains on the groups it has; the published code raises "
        "an error.",
    ),
)
