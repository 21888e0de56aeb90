"""One task after the other, without going back: what the policy forgets of the first is measured after each stage."""

from assay.methods.exploration.continual.source import InTurn
from assay.recipe import Like, Stage

CONTINUAL = Like(
    "grpo",
    name="continual",
    title="A run through tasks, one after the other",
    paper="-",
    claim="none: it is the setting in which forgetting shows, and a baseline for methods against it",
    changes={
        "mechanism.source": InTurn(),
        "mechanism.objective.regularise": (),
        "stages": tuple(Stage(f"task {number}") for number in range(1, 5)),
    },
    notes=(
        "GRPO without its KL penalty. The four stages are of equal length; each draws from one task of the pool, in "
        "their order: `--task countdown:3 --task mod-chain:4`. With two tasks the third stage comes back to the first.",
        "Evaluations ask for all tasks of the pool. `--evaluation.every` must divide the length of a stage, so that "
        "one falls on its end; `assay.lab.forgetting.measured(RUN)` then says what each task lost since its best "
        "stage.",
        "All values that are not GRPO's are ours. `--mechanism.objective.regularise kl` adds the penalty again.",
    ),
)
