"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "srt": Learns(by="reward of its own", hot=True),
    "srt-easy": Learns(by="reward of its own", hot=True),
}
