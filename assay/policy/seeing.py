"""Small models that see, made from scratch: a LLaVA of `transformers`, whose eye is a CLIP of a few layers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from assay.policy.foreign import Foreign, network_of, pictures_of
from assay.policy.hf_config import config_to_hf
from assay.policy.pictures import SETTINGS
from assay.policy.policy import Policy
from assay.policy.tokenizer import tokenizer_from_files

if TYPE_CHECKING:
    from assay.policy.config import EyeShape, PolicyConfig
    from assay.policy.tokenizer import Tokenizer
    from assay.rng import Key


def fresh_seeing(shape: PolicyConfig, eye: EyeShape, tokenizer: Tokenizer, *, key: Key) -> Policy:
    """A policy that sees, with random weights, which depend on the key and the shapes alone.

    Matrices are drawn with a deviation of one over the root of their inputs, because with the usual 0.02 so narrow a
    model hardly learns.
    """
    raw = _described(shape, eye, tokenizer)
    settings = {
        "image_processor_type": "CLIPImageProcessor",
        "size": {"shortest_edge": eye.side},
        "crop_size": {"height": eye.side, "width": eye.side},
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    network = Foreign(network_of(raw).eval(), raw)
    generator = torch.Generator().manual_seed(key.bits & (2**63 - 1))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=parameter[0].numel() ** -0.5, generator=generator)
            else:
                parameter.fill_(float("norm" in name and name.endswith("weight")))
    network.pictures = pictures_of(raw, settings)
    files = {**tokenizer.files, SETTINGS: (json.dumps(settings, indent=2) + "\n").encode()}
    return Policy(network, replace(tokenizer_from_files(files), pictures=network.pictures))


def _described(shape: PolicyConfig, eye: EyeShape, tokenizer: Tokenizer) -> dict[str, Any]:
    """The `config.json` of the model."""
    vision = {
        "model_type": "clip_vision_model",
        "hidden_size": eye.hidden,
        "intermediate_size": 2 * eye.hidden,
        "num_hidden_layers": eye.layers,
        "num_attention_heads": eye.heads,
        "image_size": eye.side,
        "patch_size": eye.patch,
        "projection_dim": eye.hidden,
    }
    return {
        "architectures": ["LlavaForConditionalGeneration"],
        "model_type": "llava",
        "text_config": config_to_hf(shape),
        "vision_config": vision,
        "image_token_index": tokenizer.vocab - 1,
        "image_seq_length": (eye.side // eye.patch) ** 2,
        "vision_feature_layer": -1,
        "vision_feature_select_strategy": "default",
        "tie_word_embeddings": shape.tied,
        "torch_dtype": "float32",
    }
