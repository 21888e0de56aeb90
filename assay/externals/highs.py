"""HiGHS: linear and integer programs, written as CPLEX LP text."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from assay.externals.external import External
from assay.externals.versions import of_package

STATUS = {"kOptimal": "optimal", "kInfeasible": "infeasible", "kUnbounded": "unbounded"}


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Solves each LP text of `texts`, one after the other.

    answer({"texts": ["max\\n a: 3 x\\nst\\n b: x <= 4\\nend\\n"]}, print)
    # {"answers": [{"status": "optimal", "objective": 12.0, "values": {"x": 4.0}}]}

    The status is optimal, infeasible, unbounded, unread (the text is no LP) or stopped (none of these).
    """
    answers = []
    for number, text in enumerate(job["texts"]):
        tell(str(number))
        answers.append(_solve(text))
    return {"answers": answers}


def _solve(text: str) -> dict[str, Any]:
    import highspy

    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("random_seed", 0)):
        solver.setOptionValue(option, value)
    with tempfile.NamedTemporaryFile("w", suffix=".lp", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if solver.readModel(file.name) != highspy.HighsStatus.kOk:
            return {"status": "unread"}
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kUnboundedOrInfeasible:  # presolve cannot tell the two apart
        solver.setOptionValue("presolve", "off")
        solver.run()
        status = solver.getModelStatus()
    outcome = STATUS.get(status.name, "stopped")
    if outcome != "optimal":
        return {"status": outcome}
    values = dict(zip(solver.getLp().col_names_, solver.getSolution().col_value, strict=True))
    return {"status": outcome, "objective": solver.getInfo().objective_function_value, "values": values}


HIGHS = External(
    name="highs",
    purpose="solves linear and integer programs",
    install="pip install 'assay-rl[externals]'",
    version=lambda: of_package("highspy"),
    answer="assay.externals.highs:answer",
    loads=("highspy",),
    passes={"texts": ["max\n a: 3 x + 2 y\nst\n b: x + y <= 4\n c: x + 3 y <= 6\nbounds\n x <= 3\nend\n"]},
    fails={"texts": ["max\n a: x\nst\n b: x <= 1\n c: x >= 2\nend\n"]},
    accepts=lambda result: result["answers"][0].get("objective") == 11.0,
    deadline=2.0,
)
