"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it imitates answers of others, or of rounds before
    "expert-iteration": Learns(by="own tests"),
}
