"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "r1-searcher": Learns(by="last stage"),
}
