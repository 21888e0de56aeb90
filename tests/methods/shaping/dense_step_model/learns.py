"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "dense-step-model": Learns(by="stages", hot=True),
}
