"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "surrogate-fl": Learns(by="reward of its own", hot=True),
    "surrogate-f": Learns(by="reward of its own", hot=True),
}
