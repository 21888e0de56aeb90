"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # nothing trains: what it proves is measured
    "dsp-plus": Learns(by="own tests"),
    "dsp-plus-undrafted": Learns(by="own tests"),
}
