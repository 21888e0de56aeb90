"""Methods: what a paper contributes, each in a file of its own, or in a folder with the parts that nobody else uses.

Its recipes are all the `Recipe` and `Like` of that module, its parts all the parts that are defined in it, and the
first paragraph of its docstring is what the tables of docs/ say of it. The methods of a group stand in its folder, and
a line of the folder's `__init__.py` makes one known; `assay.known` imports it. The groups, in this order, are those of
`assay list recipes` and of the tables.
"""

from assay.methods import (
    baselines,
    corrections,
    demonstrations,
    exploration,
    gates,
    judges,
    losses,
    regularisers,
    shaping,
    unlabelled,
    verified,
)

METHODS = {
    "baselines": baselines.METHODS,
    "gates": gates.METHODS,
    "corrections": corrections.METHODS,
    "regularisers": regularisers.METHODS,
    "losses": losses.METHODS,
    "demonstrations": demonstrations.METHODS,
    "shaping": shaping.METHODS,
    "exploration": exploration.METHODS,
    "unlabelled": unlabelled.METHODS,
    "verified": verified.METHODS,
    "judges": judges.METHODS,
}
