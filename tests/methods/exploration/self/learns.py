"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it works on what the greedy answer fails, and here that is right from the start
    "self": Learns(by="own tests"),
}
