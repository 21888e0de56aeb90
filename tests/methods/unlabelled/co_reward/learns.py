"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "co-reward": Learns(by="reward of its own", hot=True),
    "co-reward-teacher": Learns(by="reward of its own", hot=True, least=0.03),
}
