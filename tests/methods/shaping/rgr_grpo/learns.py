"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # its first stage imitates, and is always right
    "rgr-grpo-worked": Learns(by="own tests"),
}
