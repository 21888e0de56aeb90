"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # what it learns does not show in the answers of the frozen policy that it reads
    "sweet-rl": Learns(by="own tests"),
}
