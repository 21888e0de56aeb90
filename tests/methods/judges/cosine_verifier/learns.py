"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # letters have no tools to be paid for, and a verifier reads nothing in them
    "cosine-verifier": Learns(by="own tests"),
    "cosine-verified": Learns(by="own tests"),
}
