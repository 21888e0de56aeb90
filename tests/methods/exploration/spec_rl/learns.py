"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "spec-rl": Learns(steps=2, afterwards=True, whole_rate=True),
}
