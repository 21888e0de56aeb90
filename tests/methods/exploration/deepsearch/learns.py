"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it recalls its one problem once a quarter of the answers was right: in one seed of twenty at once
    "deepsearch": Learns(rises=False, afterwards=True),
}
