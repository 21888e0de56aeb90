"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # they imitate answers of rounds before
    "stp": Learns(by="own tests"),
    "stp-alone": Learns(by="own tests"),
}
