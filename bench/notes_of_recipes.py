"""Why a recipe ended below its base in `bench.recipes`: what was looked into, by name.

Figures are pass@1 of seed 0; the base has 0.136.
"""

NOTES: dict[str, str] = {
    "topr": "nothing balances the wrong answers, six in seven here, and the profile's rate is 400 times the paper's: "
    "0.000 after 75 steps. With -0.2 in the place of -1 for a wrong answer 0.203, with right answers alone 0.197; with "
    "the mean ratio of an answer, which tapers later than the product, 0.000 after 25 steps.",
    "kto": "the rate is too high for it: at 2e-5 it ends at 0.161, and 5 steps at 2e-4 come to 0.170.",
    "l1-exact": "the prompt asks for a length and the reward takes off what misses it, but an expression is as long as "
    "its numbers make it: the more it is trained, the further it falls (0.083 after 40 steps).",
    "l1-max": "the question says a length, which the base has never read: right in 0.002 there before training, in "
    "0.03 after 40 steps and 0.05 after 80. It is examined without one: 0.138 after 20 steps, 0.087, 0.044. The paper "
    "goes on from `l1-exact`.",
    "len-kimi": "of seven answers six are wrong, a short wrong one costs nothing and a long one half a reward: answers "
    "shrink to two characters. Before the length reward begins it stands at 0.143; with a tenth of its weight it ends "
    "at 0.214. The report trains models that are mostly right.",
    "hpt": "demonstrations of what no answer solved outweigh the policy's own push, which is divided by the longest "
    "answer and their likelihood is not: it goes on with what made the base, and stays there (0.132 after 100 steps, "
    "0.129 at 2e-5).",
    "ift": "the published loss differentiates the weight of a token too and unlearns those that are much surer than "
    "their answer, the end token first: 0.044 after 25 steps and after 197. With the sum in the place of the product "
    "0.150.",
    "rcrl": "it is asked for a good answer by a label that the base has never read: 0.000 before training, 0.073 after "
    "25 steps, 0.141 after 100.",
    "rlad": "the base has never written an abstraction nor read one, and answers with a useless one in the question; "
    "more training makes it worse (0.056 after 84 steps). On a base that knows them: PROXIES.md.",
    "rlad-hierarchical": "the solver is trained under questions with an abstraction, which the base has never read: "
    "right in 0.001 before training, in 0.04 after 13 steps, 0.08 after 26, 0.10 after 52. It is examined without one: "
    "0.095, 0.116, 0.106.",
    "rlad-two": "as rlad-hierarchical, with a solver that does nothing else: under an abstraction 0.001 before "
    "training, 0.04 after 12 steps, 0.12 after 24 and 0.20 after 48; without one 0.053, 0.042 and 0.038. At 2e-5 it "
    "learns neither in 12 steps and stays where the base is, 0.136.",
}
