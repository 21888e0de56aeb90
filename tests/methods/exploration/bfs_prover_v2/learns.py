"""How the recipes learn letters, where not as the others do."""

from learning import Learns

LEARNS = {
    # it imitates proofs of searches before
    "bfs-prover-v2": Learns(by="own tests"),
}
