"""Each prompt is trained either by imitation of its demonstration or by reinforcement."""

from assay.collect.teachers import AskTeachers
from assay.credit import GroupRelative
from assay.methods.demonstrations.hpt.switch import SwitchToExpert
from assay.objective import Case, Entropy, FixedLength, Likelihood, Objective, Shut, Tagged
from assay.objective.gates import Plain
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

TEACHER = Tagged("teacher")

HPT = Recipe(
    name="hpt",
    title="Towards a Unified View of Large Language Model Post-Training",
    paper="2509.04419",
    claim="for each prompt either imitation or reinforcement, by whether the policy solves it: above SFT, GRPO, one "
    "after the other, LUFFY and SRFT on six benchmarks with Qwen2.5-Math-7B",
    mechanism=Mechanism(
        expand=(AskTeachers(most=1, right=0),),
        curate=(SwitchToExpert(most=0),),
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Plain(),
            cases=(Case(over=TEACHER, gate=Shut()),),
            aggregate=FixedLength(),
            regularise=(Entropy(weight=0.001, mean="own"),),
            extra=(Likelihood(weight=1.0, over=TEACHER, mean="own"),),
            injected="train",
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=5e-6, num_steps=500, num_minibatches=2),
    notes=(
        "Values are those of the published code for 7B (for 1.5B the weight of the imitation is 0.3); num_steps is "
        "ours.",
        "A prompt is imitated if 0 of its 8 answers are right; the paper's ablation has 41.9 for 0, 38.7 for at most "
        "1 and 39.0 for at most 2.",
        "The imitation loss is a mean over all tokens of the demonstrations of the optimiser step, and 0 if there is "
        "none.",
        "The entropy bonus is a mean over all tokens that train, demonstrations included. Averaged by the policy's "
        "denominator, in which demonstrations do not count, the bonus would grow with every prompt that switches to "
        "imitation.",
    ),
    deviations=(
        "The published code averages imitation and entropy over each micro-batch, so that the weight of the imitation "
        "depends on how many prompts switched there.",
    ),
)
