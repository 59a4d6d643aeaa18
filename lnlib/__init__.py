"""Layer normalization in NumPy, written to be read.

The arithmetic needs NumPy only. The drawings live in `lnlib.figures`, which needs matplotlib
and is imported only by those who draw.
"""

from lnlib.layer_norm import LayerNorm, LayerNormSteps, layer_norm, layer_norm_steps

__all__ = ["LayerNorm", "LayerNormSteps", "layer_norm", "layer_norm_steps"]
