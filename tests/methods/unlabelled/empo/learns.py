"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "empo": Learns(by="agreement", hot=True),
    "empo-log": Learns(by="agreement", hot=True),
}
