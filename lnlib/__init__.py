"""Layer normalization in NumPy, written to be read.

The arithmetic needs NumPy only. The drawings live in `lnlib.figures`, which needs matplotlib
and is imported only by those who draw.
"""

from lnlib.layer_norm import LayerNorm, LayerNormSteps, layer_norm, layer_norm_backward, layer_norm_steps
from lnlib.neighbors import batch_norm, rms_norm, rms_norm_backward

__all__ = [
    "LayerNorm", "LayerNormSteps", "batch_norm", "layer_norm", "layer_norm_backward",
    "layer_norm_steps", "rms_norm", "rms_norm_backward",
]
