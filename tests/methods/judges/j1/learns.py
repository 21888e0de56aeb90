"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it trains a judge of answers, which letters cannot spell
    "j1": Learns(by="own tests"),
    # it trains a judge of answers, which letters cannot spell
    "j1-pointwise": Learns(by="own tests"),
}
