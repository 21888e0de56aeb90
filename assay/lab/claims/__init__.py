"""Claim cards: what the field claims, as studies that say SUPPORTED, REFUTED or INCONCLUSIVE by a rule fixed before.

    assay claims run CC-00

CC-00 is the gate: it tries the instruments on cases whose truth is known. A card names the checks that it rests on, and
`gate.require` refuses it where one of them does not hold with the code at hand.
"""

from assay.lab.claims.card import Card, Check, Finding, Outcome, Work
from assay.lab.claims.gate import CC_00, require

CARDS: dict[str, Card] = {card.id: card for card in (CC_00,)}

__all__ = ["CARDS", "Card", "Check", "Finding", "Outcome", "Work", "require"]
