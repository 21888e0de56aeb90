"""Methods: what a paper contributes, each in a file of its own, or in a folder with the parts that nobody else uses.

The recipes of a method are all the `Recipe` and `Like` of its module, and its parts are all the parts that are defined
there. The tables of docs/ print the first paragraph of the module's docstring. The methods of a group stand in its
folder, and a line of the folder's `__init__.py` makes one known; `assay.known` imports it. The groups, in this order,
are those of `assay list recipes` and of the tables.
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
    turns,
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
    "turns": turns.METHODS,
}
