"""Critics whose network the compiled core computes."""

from __future__ import annotations

from assay.engine.native.engine import NativeEngine
from assay.engine.torch.value_engine import Values


class NativeValueEngine(Values, NativeEngine):
    """A critic on the compiled core.

    Example:
        critic = NativeValueEngine(policy.transformer, end_ids=policy.end_ids)
        critic.forward(chunk, Want(value=True)).value  # [M]
    """
