"""The shape of a policy: what a Hugging Face `config.json` of the Llama, Qwen2 and Qwen3 families can say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError

Family = Literal["llama", "qwen2", "qwen3"]
RopeKind = Literal["default", "linear", "dynamic", "yarn", "llama3", "longrope"]


@dataclass(frozen=True)
class Rope:
    """Rotary positions. `kind` is Hugging Face's rope_type; `assay.policy.rope` has the formula of each kind.

    Example:
        Rope(theta=1e6)
        Rope(kind="yarn", factor=4.0, original_context=32768)
    """

    kind: RopeKind = "default"
    theta: float = 10000.0
    factor: float = 1.0
    original_context: int | None = None
    low_freq_factor: float | None = None  # llama3
    high_freq_factor: float | None = None  # llama3
    beta_fast: float | None = None  # yarn
    beta_slow: float | None = None  # yarn
    mscale: float | None = None  # yarn
    mscale_all_dim: float | None = None  # yarn
    attention_factor: float | None = None  # yarn, longrope
    truncate: bool | None = None  # yarn
    long_factor: tuple[float, ...] | None = None  # longrope
    short_factor: tuple[float, ...] | None = None  # longrope

    def __post_init__(self) -> None:
        if self.kind not in REQUIRED:
            raise ConfigError(f"rope kind '{self.kind}' is not one of {', '.join(REQUIRED)}.")
        missing = [name for name in REQUIRED[self.kind] if getattr(self, name) is None]
        if missing:
            raise ConfigError(f"rope '{self.kind}' needs {', '.join(missing)}.")
        allowed = ("kind", "theta", *REQUIRED[self.kind], *OPTIONAL[self.kind])
        surplus = [name for name, field in self.__dataclass_fields__.items() if name not in allowed]
        surplus = [name for name in surplus if getattr(self, name) != self.__dataclass_fields__[name].default]
        if surplus:
            raise ConfigError(f"rope '{self.kind}' has no {', '.join(surplus)}.")
        _require_finite("rope", self)
        if not (self.theta > 0 and self.factor > 0):
            raise ConfigError(f"rope theta and factor must be positive, not {self.theta} and {self.factor}.")
        if self.original_context is not None and self.original_context < 2:
            raise ConfigError(f"rope original_context must be at least 2, not {self.original_context}.")
        if self.kind == "llama3" and not (self.high_freq_factor or 0) > (self.low_freq_factor or 0) > 0:
            raise ConfigError(
                "rope 'llama3' needs 0 < low_freq_factor < high_freq_factor, "
                f"not {self.low_freq_factor} and {self.high_freq_factor}."
            )

    @property
    def stretches(self) -> bool:
        """Whether the frequencies depend on the length of the row (`Transformer.fit`)."""
        return self.kind in ("dynamic", "longrope")


REQUIRED: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_context"),
    "llama3": ("factor", "original_context", "low_freq_factor", "high_freq_factor"),
    "longrope": ("factor", "original_context", "long_factor", "short_factor"),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": (),
    "dynamic": (),
    "yarn": ("beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor", "truncate"),
    "llama3": (),
    "longrope": ("attention_factor",),
}


def _require_finite(what: str, record: Any) -> None:
    """Raises ConfigError if a number in a record, or in a tuple of the record, is infinite or not a number."""
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and not math.isfinite(number):
                raise ConfigError(f"{what} {name} must be a finite number, not {number}.")


@dataclass(frozen=True)
class PolicyConfig:
    """The shape of a decoder-only transformer: rotary positions, RMS norms, SwiGLU, grouped-query attention.

    Example:
        PolicyConfig("qwen3", vocab=99, hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, ffn=128, context=512,
                     qk_norm=True)
    """

    family: Family
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    rope: Rope = Rope()
    norm_eps: float = 1e-6
    tied: bool = True
    attention_bias: bool = False  # on query, key and value (Qwen2: always)
    output_bias: bool = False  # on the attention's output projection
    mlp_bias: bool = False
    qk_norm: bool = False  # Qwen3
    init_std: float = 0.02

    def __post_init__(self) -> None:
        for name in ("vocab", "hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "context"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}.")
        _require_finite("config", self)
        if self.norm_eps < 0:
            raise ConfigError(f"norm_eps must be at least 0, not {self.norm_eps}.")
        if self.heads % self.kv_heads:
            raise ConfigError(f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads}).")
        if self.head_dim % 2:
            raise ConfigError(f"head_dim must be even, because positions turn pairs; it is {self.head_dim}.")
        if self.rope.kind == "dynamic" and self.head_dim == 2:
            raise ConfigError("rope 'dynamic' needs a head_dim of at least 4.")
        for name in ("long_factor", "short_factor"):
            factors = getattr(self.rope, name)
            if factors is not None and len(factors) != self.head_dim // 2:
                raise ConfigError(f"rope {name} needs head_dim / 2 = {self.head_dim // 2} numbers, not {len(factors)}.")
        self._check_family()

    def _check_family(self) -> None:
        """Refuses a shape that the family's Hugging Face configuration cannot
        express: its checkpoint could not be loaded.
        """
        if self.family not in ("llama", "qwen2", "qwen3"):
            raise ConfigError(f"family '{self.family}' is not one of llama, qwen2, qwen3.")
        rules = {
            "llama": {"qk_norm": False, "output_bias": self.attention_bias},
            "qwen2": {"qk_norm": False, "attention_bias": True, "output_bias": False, "mlp_bias": False},
            "qwen3": {"qk_norm": True, "output_bias": self.attention_bias, "mlp_bias": False},
        }
        for name, expected in rules[self.family].items():
            if getattr(self, name) != expected:
                raise ConfigError(
                    f"a {self.family} model with {name}={getattr(self, name)} cannot be saved: "
                    f"{name} must be {expected}."
                )
        if self.family == "llama" and self.hidden % self.heads:
            raise ConfigError(
                f"a llama model needs hidden ({self.hidden}) to be a multiple of heads ({self.heads}), "
                "because transformers loads no other; qwen2 and qwen3 have no such rule."
            )


def parameters(c: PolicyConfig) -> int:
    """How many parameters a model has; an output layer that is tied to the embedding counts once."""
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    layer = sum(rows * columns for rows, columns in matrices(c).values()) + 2 * c.hidden
    layer += (q + 2 * k if c.attention_bias else 0) + (c.hidden if c.output_bias else 0)
    layer += (2 * c.ffn + c.hidden if c.mlp_bias else 0) + (2 * c.head_dim if c.qk_norm else 0)
    return c.layers * layer + c.hidden + c.vocab * c.hidden * (1 if c.tied else 2)


def matrices(c: PolicyConfig) -> dict[str, tuple[int, int]]:
    """[out, in] of each matrix of a layer."""
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    return {
        "q_proj": (q, c.hidden),
        "k_proj": (k, c.hidden),
        "v_proj": (k, c.hidden),
        "o_proj": (c.hidden, q),
        "gate_proj": (c.ffn, c.hidden),
        "up_proj": (c.ffn, c.hidden),
        "down_proj": (c.hidden, c.ffn),
    }


@dataclass(frozen=True)
class EyeShape:
    """The shape of the eye: pictures of `side` x `side` pixels, which it reads in squares of `patch` x `patch`.

    EyeShape(side=24, patch=8, hidden=64, layers=1, heads=4)  # 9 tokens a picture
    """

    side: int = 24
    patch: int = 8
    hidden: int = 64
    layers: int = 1
    heads: int = 4
