"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # one player gains by what the other cannot
    "ssp": Learns(by="own tests"),
}
