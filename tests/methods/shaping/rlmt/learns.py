"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # a preference model of letters is exploited in three seeds of twenty: its reward alone rises
    "rlmt": Learns(by="stages", hot=True, exploits=True),
}
