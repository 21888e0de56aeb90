"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "fork-mask": Learns(steps=2),
}
