"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it imitates a demonstration wherever nothing is right any more, which no sign turns
    "hpt": Learns(bare=("expand",)),
}
