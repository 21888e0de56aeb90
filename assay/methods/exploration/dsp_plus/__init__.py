"""Draft, sketch, prove: failed proofs are masked where the prover refuses them, and their holes are closed."""

from assay.curate import NoTraining
from assay.methods.exploration.dsp_plus.close import CloseSketches
from assay.methods.exploration.dsp_plus.draft import Drafts, SketchDrafts
from assay.recipe import Like, Mechanism, Recipe, Rule
from assay.reward import Outcome
from assay.scale import Model, Scale

PROVE = CloseSketches(rounds=4)

DSP_PLUS = Recipe(
    name="dsp-plus",
    title="Reviving DSP for Advanced Theorem Proving in the Era of Reasoning Models",
    paper="2506.11487",
    claim="without training, a drafting, a sketching and a proving model together prove 80.7 percent of miniF2F, 32.8 "
    "of ProofNet and 24 of 644 theorems of PutnamBench",
    missing="Lean: Coq takes its place; a third model as step prover, and its tree search",
    tasks=("coq-library", "coq"),
    mechanism=Mechanism(
        ask=(Drafts(longest=1024),),
        expand=(SketchDrafts(), PROVE),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(NoTraining(),),
        rules=(Rule("drafter", verified=False),),
    ),
    scale=Scale(num_prompts=32, group_size=32, max_new=1024, learning_rate=1e-6, num_steps=10, temperature=0.7),
    models={"policy": Model(), "drafter": Model(trained=False)},
    roles={"policy": "policy", "drafter": "drafter"},
    notes=(
        "Nothing trains: the run measures how many theorems are proved. 32 tries a theorem, 0.7 for sketches and four "
        "rounds of the step prover are the paper's; the temperature of drafts is 0.7 too, where it is 0.6 with top-p "
        "0.95. The scale is ours.",
        "Coq stops at the first sentence that it refuses, so masking goes on sentence by sentence. The tree is that of "
        "braces and bullets, not of indentation. Outside of blocks a refused sentence goes with the blocks behind it; "
        "within one a hole takes the place of the rest of the block; goals that are left at the end get holes. No "
        "refusal can repeat, so that the strict mode of the paper is not needed.",
        "A hole is closed by `now` with auto, lia, firstorder or congruence, first with nothing but the hypotheses "
        "that `prove_with` names, then with all. The step prover is the policy itself: it goes on from the first hole "
        "that is open, and what it writes is masked again.",
        "A proof is right if the task's verifier says so: `Qed`, no assumptions, no `admit` in it. Work on a theorem "
        "ends with its first proof.",
        "Masking may throw a whole sketch away, and then automation alone proves. The four tactics prove nearly all "
        "theorems of `coq` up to level 4 and of `coq-library` up to 2; those with induction (`coq:6`, `coq-library:4`) "
        "show what sketches are worth.",
    ),
    deviations=(
        "The published pipeline has a list of unsafe rules beside Aesop, and limits of 180 and 1200 seconds; a theorem "
        "of Coq has two seconds of the processor here.",
    ),
)

DSP_PLUS_UNDRAFTED = Like(
    "dsp-plus",
    name="dsp-plus-undrafted",
    claim="a control: the policy proves without a draft, and what fails is masked and closed",
    changes={
        "mechanism.ask": (),
        "mechanism.expand": (PROVE,),
        "mechanism.rules": (),
        "models": {"policy": Model()},
        "roles": {"policy": "policy"},
    },
)
