"""Studies: methods compared on tasks over several seeds at equal cost, from a plan to a report.

    assay compare grpo dapo --task countdown:3,4 --seeds 9 --budget tokens=2e6
    assay compare --study FILE.toml

`plan` says which runs a study takes, `files` reads one from a file, `declared` refuses differences that nobody
declared, `queue` runs what is missing, `analysis` says what came out, and `page` and `markdown` write it down.
"""

from assay.lab.study.files import read
from assay.lab.study.plan import Arm, Budget, Study

__all__ = ["Arm", "Budget", "Study", "read"]
