"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "rent": Learns(by="reward of its own", hot=True),
}
