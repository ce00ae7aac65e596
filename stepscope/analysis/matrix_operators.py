"""Operators whose arithmetic matrix units (Tensor Cores, Matrix Cores) can do: products, convolutions, attention."""

from __future__ import annotations

import re

#: PyTorch's, without namespace, trailing underscore and variant; TensorFlow's by type.
_PYTORCH = (
    "mm|bmm|addmm|addbmm|baddbmm|matmul|linear|bilinear|einsum|_scaled_mm|_grouped_mm|conv[123]d|conv_transpose[123]d|"
    "convolution|_convolution|cudnn_convolution|cudnn_convolution_transpose|miopen_convolution|"
    "convolution_backward|cudnn_convolution_backward|lstm|gru|_cudnn_rnn|lstm_cell|gru_cell|"
    "scaled_dot_product_attention|_scaled_dot_product_\\w+|_flash_attention_(?:forward|backward)|"
    "_efficient_attention_(?:forward|backward)"
)
_TENSORFLOW = (
    "MatMul|BatchMatMul(?:V[23])?|_FusedMatMul|Einsum|Conv[23]D|_FusedConv2D|Conv[23]DBackprop(?:Input|Filter)(?:V2)?|"
    "CudnnRNN(?:V[23])?|CudnnRNNBackprop(?:V[23])?"
)
_MATCH = re.compile(rf"(?:aten::(?:{_PYTORCH})_?|(?:.*[/:])?(?:{_TENSORFLOW}))")


def is_matrix_operator(name: str) -> bool:
    """Whether an operator of this name may run on matrix units, if precision and shapes allow."""
    return _MATCH.fullmatch(name) is not None
