"""Studies: methods compared on tasks over several seeds at equal cost, from a plan to a report.

    assay compare grpo dapo --task countdown:3,4 --seeds 9 --budget tokens=2e6
    assay compare --study FILE.toml

`plan` says which runs a study takes and refuses differences that nobody declared, `queue` runs what is missing,
`analysis` says what came out, and `page` writes it as one page.
"""

from assay.lab.study.plan import Arm, Budget, Study, read

__all__ = ["Arm", "Budget", "Study", "read"]
