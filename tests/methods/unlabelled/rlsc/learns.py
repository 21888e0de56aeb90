"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "rlsc": Learns(by="reward of its own", hot=True),
}
