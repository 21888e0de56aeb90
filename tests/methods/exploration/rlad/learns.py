"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "rlad": Learns(by="stages"),
    "rlad-two": Learns(by="stages"),
}
