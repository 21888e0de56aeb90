"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    "vine-ppo": Learns(hot=True),
}
