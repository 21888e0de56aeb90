"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # the longer answers of later stages are right more often by chance
    "acereason": Learns(falls=False),
}
