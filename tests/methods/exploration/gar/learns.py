"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {"gar": Learns(by="own tests")}
