"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "shape-rm": Learns(steps=2),
}
