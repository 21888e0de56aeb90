"""How each generator of reasoning-gym becomes a task: its checker, the identity of an instance, the facts it keeps.

There is one row for each generator. A test fails for a generator that is neither here nor in `excluded.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.tasks.gym import checks as check
from assay.tasks.gym.checks import Check, equal

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """How one generator becomes a task.

    Example:
        Rule("arithmetic", equal(to_number))  # one right answer, compared with the reference as a number
    """

    domain: str
    check: Check | None = None  # None: an answer is right if `grammar` matches it and the package's scorer gives 1
    grammar: str = ""
    facts: tuple[str, ...] = ()  # the keys of the item's metadata that an instance keeps
    identity: Callable[[str, Facts], object] | None = None  # identity by question and facts; None: by the question
    unique: bool = True  # whether there is one right answer only
    answer: Callable[[Facts], str] | None = None  # the answer, where the package keeps it in the metadata
    config: Mapping[str, Any] = field(default_factory=dict)  # settings that differ from the package's defaults
    note: str = ""  # why they differ, or what a reader should know


def by(*keys: str) -> Callable[[str, Facts], object]:
    """Identity by facts, so that the same content in other words is the same problem."""
    return lambda question, facts: [facts[key] for key in keys]


def given(*keys: str) -> dict[str, Any]:
    """Arguments of a `Rule` whose instances are identified by these facts, because questions have several wordings."""
    return {"facts": keys, "identity": by(*keys)}


def _unordered(question: str, facts: Facts) -> object:
    return sorted(facts["numbers"])


def _countdown(question: str, facts: Facts) -> object:
    return [facts["target"], sorted(facts["numbers"])]


def _family(question: str, facts: Facts) -> object:
    return [question.split("\n\n")[0], facts["person1"], facts["person2"]]


def _picture(question: str, facts: Facts) -> object:
    return question.split("\n\n", 1)[1]


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _calendar(question: str, facts: Facts) -> object:
    return [dict(facts), [question.count(day) for day in _DAYS]]


_CALENDAR = ("task", "year", "month", "ordinal", "weekday", "first_day", "offset_days", "start_date", "end_date")
_CALENDAR += ("target_date",)
_TEXT, _NUMBER, _GRID, _JSON = equal(check.to_text), equal(check.to_number), equal(check.to_grid), equal(check.to_json)

_ALGEBRA = {
    "complex_arithmetic": Rule("algebra", equal(check.to_complex)),
    "intermediate_integration": Rule(
        "algebra",
        check.integral,
        facts=("integrand", "variable"),
        identity=by("integrand"),
        unique=False,
        note="Unsolved integrals are redrawn. The reference may be another antiderivative in another process.",
    ),
    "polynomial_equations": Rule(
        "algebra",
        equal(check.to_roots),
        **given("polynomial_expr"),
        note="Equations without real roots, whose answer would be empty, are redrawn.",
    ),
    "polynomial_multiplication": Rule("algebra", check.expansion, **given("polynomial_expr")),
    "simple_equations": Rule("algebra", _NUMBER, **given("equation")),
    "simple_integration": Rule(
        "algebra", check.polynomial_integral, facts=("integrand", "variable"), identity=by("integrand"), unique=False
    ),
}

_ALGORITHMIC = {
    "ab": Rule("algorithmic", _TEXT),
    "base_conversion": Rule("algorithmic", _TEXT),
    "binary_alternation": Rule("algorithmic", _NUMBER),
    "binary_matrix": Rule("algorithmic", _GRID),
    "caesar_cipher": Rule("algorithmic", _TEXT),
    "count_primes": Rule("algorithmic", _NUMBER),
    "cryptarithm": Rule(
        "algorithmic",
        check.cryptarithm,
        facts=("words_letters", "result_letters", "allow_leading_zero"),
        unique=False,
    ),
    "game_of_life": Rule("algorithmic", _JSON),
    "game_of_life_halting": Rule("algorithmic", _TEXT),
    "graph_color": Rule(
        "algorithmic",
        check.colouring,
        facts=("puzzle",),
        unique=False,
        answer=lambda facts: json.dumps({str(vertex): colour for vertex, colour in facts["possible_answer"].items()}),
    ),
    "group_anagrams": Rule("algorithmic", equal(check.to_groups)),
    "isomorphic_strings": Rule("algorithmic", _TEXT),
    "jugs": Rule("algorithmic", check.jugs, facts=("puzzle",), unique=False),
    "letter_counting": Rule("algorithmic", _NUMBER),
    "letter_jumble": Rule("algorithmic", _TEXT, note="Another word of the same letters counts as wrong."),
    "manipulate_matrix": Rule("algorithmic", _GRID),
    "number_filtering": Rule("algorithmic", equal(check.to_quoted)),
    "number_sorting": Rule("algorithmic", equal(check.to_quoted)),
    "palindrome_generation": Rule("algorithmic", check.palindrome, facts=("letters",), unique=False),
    "palindrome_partitioning": Rule("algorithmic", equal(check.to_partitions)),
    "pool_matrix": Rule("algorithmic", equal(check.to_numbers)),
    "ransom_note": Rule("algorithmic", _TEXT),
    "rotate_matrix": Rule("algorithmic", _GRID),
    "rotten_oranges": Rule("algorithmic", _NUMBER),
    "sentence_reordering": Rule("algorithmic", _TEXT, note="Another sensible order counts as wrong."),
    "spell_backward": Rule("algorithmic", _TEXT),
    "spiral_matrix": Rule("algorithmic", _GRID),
    "string_insertion": Rule("algorithmic", _TEXT),
    "string_manipulation": Rule("algorithmic", _TEXT),
    "string_splitting": Rule(
        "algorithmic", _GRID, config={"max_initial_machines": 9}, note="The defaults have 216 items in all."
    ),
    "string_synthesis": Rule(
        "algorithmic", _GRID, config={"max_initial_blocks": 9}, note="The defaults have 216 items in all."
    ),
    "word_ladder": Rule(
        "algorithmic",
        grammar=r"[A-Z]{2,12}(, ?[A-Z]{2,12})+",
        facts=("start_word", "end_word"),
        unique=False,
    ),
    "word_sequence_reversal": Rule("algorithmic", equal(check.to_words)),
    "word_sorting": Rule("algorithmic", equal(check.to_words)),
}

_ARC = {
    "arc_1d": Rule("arc", _GRID),
    "arc_agi": Rule("arc", _GRID, **given("task_id"), note="All turns and recolourings of a puzzle are in one split."),
    "rearc": Rule("arc", _GRID),
}

_ARITHMETIC = {
    "basic_arithmetic": Rule("arithmetic", _NUMBER, **given("expression")),
    "bitwise_arithmetic": Rule("arithmetic", _TEXT),
    "calendar_arithmetic": Rule("arithmetic", _TEXT, facts=_CALENDAR, identity=_calendar),
    "chain_sum": Rule("arithmetic", _NUMBER),
    "count_bits": Rule("arithmetic", _NUMBER),
    "decimal_arithmetic": Rule("arithmetic", _NUMBER),
    "decimal_chain_sum": Rule("arithmetic", _NUMBER),
    "dice": Rule("arithmetic", equal(check.to_fraction)),
    "fraction_simplification": Rule("arithmetic", equal(check.to_fraction), **given("numerator", "denominator")),
    "gcd": Rule("arithmetic", _NUMBER, facts=("numbers",), identity=_unordered),
    "gsm_symbolic": Rule("arithmetic", _NUMBER),
    "lcm": Rule("arithmetic", _NUMBER, facts=("numbers",), identity=_unordered),
    "leg_counting": Rule("arithmetic", _NUMBER),
    "number_format": Rule("arithmetic", _NUMBER),
    "power_function": Rule("arithmetic", check.significant),
    "prime_factorization": Rule("arithmetic", equal(check.to_factors)),
    "products": Rule("arithmetic", _NUMBER),
    "time_intervals": Rule("arithmetic", _TEXT, **given("task_type", "start_time", "end_time", "expected_format")),
}

_CODE = {
    "bf": Rule("code", _TEXT, **given("bf_program")),
    "codeio": Rule(
        "code",
        equal(check.to_json_or_text),
        config={"input_prediction_probability": 0.0},
        note="Outputs only: an input that gives a stated output is seldom the only one.",
    ),
}

_COGNITION = {
    "color_cube_rotation": Rule("cognition", _TEXT, **given("initial_state", "rotations", "target_side")),
    "figlet_font": Rule("cognition", _TEXT, identity=_picture),
    "modulo_grid": Rule("cognition", _GRID),
    "needle_haystack": Rule("cognition", _TEXT),
    "number_sequence": Rule("cognition", _NUMBER, note="Another rule with the same first terms counts as wrong."),
    "rectangle_count": Rule("cognition", _NUMBER),
    "rubiks_cube": Rule(
        "cognition",
        grammar=r"[UDLRFB]'?( [UDLRFB]'?)*",
        facts=("cube_size", "scramble_moves"),
        identity=_picture,
        unique=False,
        answer=lambda facts: facts["example_correct_answer"],
    ),
}

_GAMES = {
    "countdown": Rule(
        "games",
        check.makes(lambda spec: spec["facts"]["target"]),
        facts=("numbers", "target"),
        identity=_countdown,
        unique=False,
    ),
    "emoji_mystery": Rule("games", _TEXT),
    "futoshiki": Rule("games", _TEXT, config={"max_board_size": 6}, note="Larger boards take seconds to make."),
    "kakurasu": Rule(
        "games",
        check.kakurasu,
        facts=("n_rows", "n_cols", "row_sums", "col_sums"),
        identity=by("row_sums", "col_sums"),
        unique=False,
    ),
    "knight_swap": Rule(
        "games",
        grammar=r'No|\[\s*"[wB],[A-Z]\d,[A-Z]\d"(\s*,\s*"[wB],[A-Z]\d,[A-Z]\d")*\s*\]',
        facts=("board", "pieces", "start_turn", "solution", "is_possible"),
        unique=False,
        config={"max_nodes": 7, "min_pieces": 1, "max_pieces": 1},
        note="Two knights a side take seconds to make. The reference may be another shortest one in another process.",
    ),
    "mahjong_puzzle": Rule("games", _TEXT),
    "maze": Rule("games", _NUMBER),
    "mini_sudoku": Rule("games", _GRID),
    "n_queens": Rule("games", check.one_of, facts=("valid_answers",), unique=False),
    "puzzle24": Rule("games", check.makes(lambda spec: 24), facts=("numbers",), identity=_unordered, unique=False),
    "sokoban": Rule("games", grammar=r"[UDLR]+", facts=("gamestr",), unique=False),
    "sudoku": Rule("games", _GRID),
    "survo": Rule("games", check.survo, **given("puzzle", "candidate_numbers"), unique=False),
    "tower_of_hanoi": Rule(
        "games",
        check.hanoi,
        facts=("num_disks", "num_pegs", "start_peg", "target_peg", "solution_length"),
        unique=False,
        config={"max_pegs": 6},
        note="The defaults have 90 items in all.",
    ),
    "tsumego": Rule("games", _TEXT, **given("board")),
}

_GEOMETRY = {
    "advanced_geometry": Rule("geometry", equal(check.to_point), **given("task_type", "A", "B", "C")),
    "simple_geometry": Rule("geometry", _NUMBER, **given("n_sides", "known_angles")),
}

_GRAPHS = {
    "course_schedule": Rule("graphs", _TEXT),
    "family_relationships": Rule("graphs", _TEXT, facts=("person1", "person2"), identity=_family),
    "largest_island": Rule("graphs", _NUMBER),
    "path_star": Rule("graphs", _GRID),
    "quantum_lock": Rule(
        "graphs",
        check.quantum_lock,
        facts=("buttons", "initial_value", "initial_state", "target_value", "solution_path"),
        unique=False,
    ),
    "shortest_path": Rule("graphs", check.shortest_path, facts=("matrix",), unique=False),
}

_INDUCTION = {
    "acre": Rule("induction", _TEXT),
    "list_functions": Rule("induction", _JSON),
}

_LOGIC = {
    "aiw": Rule("logic", _NUMBER),
    "circuit_logic": Rule("logic", _TEXT),
    "knights_knaves": Rule("logic", equal(check.to_sentence), **given("statements", "names", "knight_knave_terms")),
    "self_reference": Rule("logic", _NUMBER),
    "syllogism": Rule("logic", _TEXT),
    "zebra_puzzles": Rule("logic", _TEXT),
}

_PROBABILITY = {
    "coin_flip": Rule("probability", check.probability, facts=("rational",)),
}

RULES: dict[str, Rule] = {
    **_ALGEBRA,
    **_ALGORITHMIC,
    **_ARC,
    **_ARITHMETIC,
    **_CODE,
    **_COGNITION,
    **_GAMES,
    **_GEOMETRY,
    **_GRAPHS,
    **_INDUCTION,
    **_LOGIC,
    **_PROBABILITY,
}
