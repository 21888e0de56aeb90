"""Critics, and reward models that write, whose network the compiled core computes."""

from __future__ import annotations

from assay.engine.native.engine import NativeEngine
from assay.engine.torch.value_engine import Speaking, Values


class NativeValueEngine(Values, NativeEngine):
    """A critic on the compiled core.

    Example:
        critic = NativeValueEngine(policy.network, end_ids=policy.end_ids)
        critic.forward(chunk, Want(value=True)).value  # [M]
    """


class NativeSpeakingEngine(Speaking, NativeEngine):
    """Tokens and values on the compiled core, as `SpeakingEngine`.

    Example:
        critic = NativeSpeakingEngine(policy.network, end_ids=policy.end_ids)
        critic.generate(requests, key), critic.forward(chunk, Want(value=True)).value
    """
