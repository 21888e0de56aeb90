"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # votes on what others pose
    "r-zero": Learns(by="own tests", hot=True),
    # votes on what others pose
    "sqlm": Learns(by="own tests", hot=True),
}
