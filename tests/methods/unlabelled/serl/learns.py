"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # votes on what others pose
    "serl": Learns(by="own tests", hot=True),
}
