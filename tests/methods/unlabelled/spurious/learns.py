"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # its reward is a coin
    "spurious-random": Learns(by="own tests", hot=True),
    "spurious-format": Learns(by="reward of its own", hot=True),
    "spurious-incorrect": Learns(by="reward of its own", hot=True),
    "spurious-majority": Learns(by="reward of its own", hot=True),
}
