"""For all tests: properties are judged by their truth, not by the speed of a busy machine."""

from hypothesis import settings

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
