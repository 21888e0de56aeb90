"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "drive": Learns(afterwards=True),
}
