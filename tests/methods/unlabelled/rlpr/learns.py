"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it rewards reasoning, which letters lack
    "rlpr": Learns(by="own tests", hot=True),
}
