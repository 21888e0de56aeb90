"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it trains a judge of answers, which letters cannot spell
    "heimdall": Learns(by="own tests"),
}
