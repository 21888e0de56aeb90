"""The pointer policy: it builds a route place by place, with an attention encoder over the places and a decoder that
points at the next one (Vinyals 1506.03134; Kool 1803.08475; POMO 2010.16011).

An action is a place, 1 .. n, or 0, which ends a route and is the only legal one when every place was visited. Places
that were visited are masked, so that every answer is a route. An encoder layer is

    x <- x + MHA(norm(x));  x <- x + FF(norm(x))

without positions: the order in which places are named changes nothing. For a step with the graph's mean h, the first
place f and the last place l, query and logits are

    q = W_h h + W_s [x_f; x_l];  g = MHA(q, legal places);  u_i = clip tanh(g . (W_k x_i) / sqrt(D))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assay.errors import ConfigError
from assay.policy.network import PlainNetwork

FAMILY = "assay-pointer"  # `model_type` of its config.json
MASKED = -1e9  # the logit of an action that is not legal: finite, and exp of it is 0
HEAD = 16  # numbers of an attention head


@dataclass(frozen=True)
class PointerConfig:
    """The shape of a pointer policy.

    PointerConfig(hidden=128, layers=6)  # pointer:128x6
    """

    hidden: int = 64
    layers: int = 3
    places: int = 128  # the most places of a route
    span: int = 100  # coordinates are divided by this
    clip: float = 10.0  # of the logits, so that no action is ruled out for good

    def __post_init__(self) -> None:
        for name, value in (("hidden", self.hidden), ("layers", self.layers), ("span", self.span)):
            if value < 1:
                raise ConfigError(f"a pointer policy needs {name} of at least 1, not {value}.")
        if self.hidden % HEAD:
            raise ConfigError(f"a pointer policy is a multiple of {HEAD} wide, as in pointer:64x3; not {self.hidden}.")
        if self.places < 2 or not self.clip > 0:
            raise ConfigError(f"a pointer policy needs places >= 2 and clip > 0, not {self.places} and {self.clip}.")

    @property
    def family(self) -> str:
        return FAMILY

    @property
    def vocab(self) -> int:
        """Its actions: the end of the route, and every place."""
        return self.places + 1

    @property
    def context(self) -> int:
        """The most numbers of prompt and answer: nothing in the network depends on it."""
        return 8 * self.places


def config_of(raw: Mapping[str, Any]) -> PointerConfig:
    """The shape that a `config.json` states."""
    names = {field.name: field.type for field in dataclasses.fields(PointerConfig)}
    given = {name: raw[name] for name in names if name in raw}
    for name, value in given.items():
        kinds = (int, float) if names[name] == "float" else (int,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ConfigError(f"config.json: {name} of a pointer policy must be a number, not {value!r}.")
    return PointerConfig(**given)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Instances that were read: their places as vectors, and what the decoder attends to. Number 0 is no place: it
    stands for the first and the last place of a route that has none yet.
    """

    states: Tensor  # [I, n + 1, D]
    mean: Tensor  # [I, D]
    keys: Tensor  # [I, heads, n, d] of the glimpse
    values: Tensor  # likewise
    pointed: Tensor  # [I, n, D] the keys that logits are made of


class _Layer(nn.Module):
    """One encoder layer."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm, self.ff_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attention = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """`mask` [I, 1, 1, n]: 0 at places, MASKED beyond the last one."""
        query, key, value = (split(part) for part in self.attention(self.norm(x)).chunk(3, -1))
        x = x + self.out(_attended(query, key, value, mask))
        return x + self.down(F.relu(self.up(self.ff_norm(x))))


def split(x: Tensor) -> Tensor:
    """[I, n, D] -> [I, heads, n, d]"""
    return x.unflatten(-1, (-1, HEAD)).transpose(1, 2)


def _attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    weight = torch.softmax(query @ key.transpose(-1, -2) * HEAD**-0.5 + mask, -1)
    return (weight @ value).transpose(1, 2).flatten(-2)


class PointerNetwork(PlainNetwork):
    """The network of a pointer policy.

    Example:
        seen = network.encode(points, counts)
        logits = network.logits(seen, which, first, last, legal)
    """

    kind = "pointer"
    config: PointerConfig

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        self.config, hidden = config, config.hidden
        self.embed = nn.Linear(2, hidden)
        self.nowhere = nn.Parameter(torch.empty(hidden))
        self.layers = nn.ModuleList(_Layer(hidden) for _ in range(config.layers))
        self.norm = nn.LayerNorm(hidden)
        self.whole = nn.Linear(hidden, hidden, bias=False)
        self.step = nn.Linear(2 * hidden, hidden, bias=False)
        self.glimpse = nn.Linear(hidden, 2 * hidden, bias=False)
        self.looked = nn.Linear(hidden, hidden, bias=False)
        self.pointed = nn.Linear(hidden, hidden, bias=False)

    def encode(self, points: Tensor, counts: Tensor) -> Encoded:
        """Reads instances: `points` [I, n, 2] with coordinates, of which the first `counts` [I] are places."""
        there = torch.arange(points.shape[1], device=points.device) < counts[:, None]
        mask = torch.where(there, 0.0, MASKED).to(points.dtype)[:, None, None, :]
        x = self.embed(points / self.config.span)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x) * there[..., None]
        keys, values = (split(part) for part in self.glimpse(x).chunk(2, -1))
        begin = self.nowhere.expand(len(x), 1, -1)
        mean = x.sum(1) / counts[:, None]
        return Encoded(torch.cat([begin, x], 1), mean, keys, values, self.pointed(x))

    def logits(self, seen: Encoded, which: Tensor, first: Tensor, last: Tensor, legal: Tensor) -> Tensor:
        """[M, n + 1] for M steps, each in the instance `which`, after the places `first` and `last`; `legal` bool
        [M, n + 1] are the actions that may follow. Steps of one instance are computed together.
        """
        row, place, most = grouped(which, len(seen.mean))
        both = torch.cat([seen.states[which, first], seen.states[which, last]], -1)
        query = seen.mean.new_zeros(len(seen.mean), most, seen.mean.shape[-1])
        query = query.index_put((row, place), self.whole(seen.mean)[which] + self.step(both))
        may = legal.new_zeros(*query.shape[:2], legal.shape[-1] - 1).index_put((row, place), legal[:, 1:])
        mask = torch.where(may, 0.0, MASKED).to(query.dtype)[:, None]
        looked = self.looked(_attended(split(query), seen.keys, seen.values, mask))
        scores = looked @ seen.pointed.transpose(-1, -2) * self.config.hidden**-0.5
        places = (self.config.clip * torch.tanh(scores))[row, place]
        return torch.cat([places.new_zeros(len(places), 1), places], 1).masked_fill(~legal, MASKED)

    @property
    def output(self) -> nn.Module:
        return self.pointed

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> PointerNetwork:
        """Draws fresh weights: uniform within one over the root of their inputs, as the papers do."""
        for name, parameter in self.named_parameters():
            if "norm" in name:
                parameter.fill_(float(name.endswith("weight")))
            else:
                bound = parameter.shape[-1] ** -0.5
                parameter.uniform_(-bound, bound, generator=generator)
        return self


def grouped(which: Tensor, count: int) -> tuple[Tensor, Tensor, int]:
    """(the instance of each step, its number among the steps of its instance, the most steps of one instance)."""
    order = torch.argsort(which, stable=True)
    sizes = torch.bincount(which, minlength=count)
    begins = (torch.cumsum(sizes, 0) - sizes)[which[order]]
    place = torch.empty_like(which)
    place[order] = torch.arange(len(which), device=which.device) - begins
    return which, place, int(sizes.max()) if len(which) else 0
