"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # letters have no steps, and a frozen policy writes what is read
    "tp-judge": Learns(by="own tests"),
    "tp-judge-outcome": Learns(by="own tests"),
}
