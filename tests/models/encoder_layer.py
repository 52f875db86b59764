"""PyTorch's encoder layer with the weights of a block of this project, for comparison."""

import torch
from torch import nn


def encoder_layer(block: nn.Module, heads: int, *, norm_first: bool) -> nn.TransformerEncoderLayer:
    """The layer with the block's parameters, after all of them are moved from where they start.

    The norms of a post-norm block (``norm_first=False``) have no parameters here.
    """
    attention = getattr(block, "attention", block)
    parts = {"self_attn.in_proj_": attention.project, "self_attn.out_proj.": attention.output}
    parts |= {"linear1.": block.expand, "linear2.": block.contract}
    if norm_first:
        parts |= {"norm1.": block.attention_norm, "norm2.": block.mlp_norm}
    weights = {
        prefix + name: getattr(part, name)
        for prefix, part in parts.items()
        for name in ("weight", "bias")
    }
    with torch.no_grad():
        for parameter in weights.values():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    hidden, width = block.expand.weight.shape
    layer = nn.TransformerEncoderLayer(
        width,
        heads,
        hidden,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=norm_first,
    )
    layer.load_state_dict(weights, strict=norm_first)
    return layer
