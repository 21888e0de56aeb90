"""The policy network: a decoder-only transformer over packed tokens.

It has no batch dimension and no key-value cache. Its input is one row of ids with their positions. Which tokens attend
to which is decided by a function that the caller passes in, so that training on packed rows, prefill, and decoding from
a cache use the same network:

    attend(layer, q[N, heads, d], k[N, kv_heads, d], v[N, kv_heads, d]) -> [N, heads, d]

Parameter names are those of Hugging Face checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assay.policy.config import PolicyConfig
from assay.policy.hf_config import config_to_hf
from assay.policy.network import Network
from assay.policy.rope import Rotary

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight, with the mean in fp32 or wider."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype in (torch.float32, torch.float64):
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


class Attention(nn.Module):
    def __init__(self, c: PolicyConfig) -> None:
        super().__init__()
        self.shape = (c.heads, c.kv_heads, c.head_dim)
        self.q_proj = nn.Linear(c.hidden, c.heads * c.head_dim, bias=c.attention_bias)
        self.k_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=c.attention_bias)
        self.v_proj = nn.Linear(c.hidden, c.kv_heads * c.head_dim, bias=c.attention_bias)
        self.o_proj = nn.Linear(c.heads * c.head_dim, c.hidden, bias=c.output_bias)
        if c.qk_norm:
            self.q_norm = RMSNorm(c.head_dim, c.norm_eps)
            self.k_norm = RMSNorm(c.head_dim, c.norm_eps)
        self.qk_norm = c.qk_norm

    def forward(self, x: Tensor, turn: Callable[[Tensor], Tensor], attend: Callable[..., Tensor]) -> Tensor:
        heads, kv_heads, d = self.shape
        q = self.q_proj(x).view(-1, heads, d)
        k = self.k_proj(x).view(-1, kv_heads, d)
        v = self.v_proj(x).view(-1, kv_heads, d)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        return self.o_proj(attend(turn(q), turn(k), v).reshape(-1, heads * d))


class SwiGLU(nn.Module):
    def __init__(self, c: PolicyConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden, c.ffn, bias=c.mlp_bias)
        self.up_proj = nn.Linear(c.hidden, c.ffn, bias=c.mlp_bias)
        self.down_proj = nn.Linear(c.ffn, c.hidden, bias=c.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, c: PolicyConfig) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden, c.norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RMSNorm(c.hidden, c.norm_eps)
        self.mlp = SwiGLU(c)

    def forward(self, x: Tensor, turn: Callable[[Tensor], Tensor], attend: Callable[..., Tensor]) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), turn, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Embedding(nn.Embedding):
    """An embedding that holds zeros until `initialise` or a checkpoint fills it.

    Torch's own random initialisation is left out: on the meta device, where checkpoints are laid out, it would import
    torch's compiler, which takes seconds at every start.
    """

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)


class Decoder(nn.Module):
    def __init__(self, c: PolicyConfig) -> None:
        super().__init__()
        self.embed_tokens = Embedding(c.vocab, c.hidden)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RMSNorm(c.hidden, c.norm_eps)


class Transformer(Network):
    """The network of a policy. `forward` gives final hidden states; the caller applies the output layer, in chunks.

    Example:
        model = Transformer(config).initialise(torch.Generator().manual_seed(0))
        logits = model.logits(model(ids, positions, attend))
    """

    kind = "transformer"

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Decoder(config)
        self.lm_head = nn.Linear(config.hidden, config.vocab, bias=False)
        self.rotary = Rotary(config)
        self.tie()

    def tie(self) -> Transformer:
        """Share one matrix between embedding and output layer, if the
        configuration says so; call it after `to_empty`.
        """
        if self.config.tied:
            self.lm_head.weight = self.model.embed_tokens.weight
        return self

    def fit(self, length: int | None) -> Transformer:
        """Fixes the row length for rope variants whose frequencies depend on it (see `assay.policy.rope`)."""
        self.rotary.fit(length)
        return self

    def forward(self, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Hidden states [N, hidden] of N packed tokens, after the last norm."""
        x = self.model.embed_tokens(ids)
        turn = self.rotary(positions, x.dtype)
        for index, block in enumerate(self.model.layers):
            x = block(x, turn, lambda q, k, v, layer=index: attend(layer, q, k, v))
        return self.model.norm(x)

    @property
    def output(self) -> nn.Module:
        """The layer that gives the logits."""
        return self.lm_head

    def tensors(self) -> dict[str, Tensor]:
        """All weights by their names in files."""
        return dict(self.named_parameters())

    def file_name(self, name: str) -> str:
        """The name that a parameter has in checkpoint files."""
        return name

    def described(self, dtype: str, ids: Mapping[str, Any]) -> dict[str, Any]:
        """Its `config.json`."""
        return config_to_hf(self.config, dtype=dtype, extra=ids)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.lm_head(hidden)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> Transformer:
        """Draws fresh weights: normal with deviation `init_std`, divided by
        sqrt(2 layers) in projections into the residual stream.
        """
        c = self.config
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif "norm" in name:
                parameter.fill_(1.0)
            else:
                shrink = (2 * c.layers) ** 0.5 if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.0
                parameter.normal_(0.0, c.init_std / shrink, generator=generator)
        return self
