"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # what a solver says of an answer is its label, and no solver reads letters
    "sirl-vote": Learns(by="own tests"),
}
