"""A judge compares the answers of a group two by two, in both orders, or rates each of them; no reference is needed."""

from assay.recipe import Like
from assay.reward import JudgedAlone, JudgedInPairs

NOTES = (
    "The judge is any OpenAI-compatible endpoint: ASSAY_JUDGE_URL, ASSAY_JUDGE_MODEL and, where it needs one, "
    "ASSAY_JUDGE_KEY.",
    "The paper evaluates models with such prompts; GRPO and its values are ours.",
)
DEVIATIONS = (
    "The prompts ask for a JSON object in place of [[A]] or [[7]], which an answer could write itself; texts of others "
    "stand between marks with a random word.",
)

JUDGE_PROMPTS = Like(
    "grpo",
    name="judge-prompts",
    title="Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena",
    paper="2306.05685",
    claim="a strong judge agrees with people in above 80% of comparisons, as often as people among each other; judging "
    "both orders removes its preference for a place",
    missing="the paper's subject, how well such a judge agrees with people: here its scores are a reward",
    changes={"mechanism.reward": (JudgedInPairs(against="group"),)},
    notes=(*NOTES, "A group of 8 takes 56 questions."),
    deviations=DEVIATIONS,
)

JUDGE_SINGLE = Like(
    "judge-prompts",
    name="judge-single",
    claim="a rating of each answer alone needs one question an answer; equal ratings of a group teach nothing",
    changes={"mechanism.reward": (JudgedAlone(),)},
    notes=NOTES,
)
