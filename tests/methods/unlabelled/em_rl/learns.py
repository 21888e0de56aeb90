"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "em-rl": Learns(by="reward of its own", hot=True),
    "em-rl-token": Learns(by="reward of its own", hot=True),
    "em-ft": Learns(by="reward of its own", hot=True),
}
