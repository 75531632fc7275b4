#!/usr/bin/env python3
"""Quantise an ONNX encoder to dynamic int8: weights by channel, activations at run time.

Usage: quantize.py IN.onnx OUT.onnx [--reduce-range]

Word vectors (Gather) are quantised too: they are half of a small encoder. With --reduce-range weights keep 7 bits:
processors without VNNI add pairs of products in 16 bits, where full 8-bit weights can saturate.

Dynamic int8 takes one activation scale for the whole run, so a text's result depends on what shares its batch:
run one text at a time wherever the same text must give the same code.
"""

import sys

from onnx import TensorProto
from onnxruntime.quantization import QuantType, quantize_dynamic


def main():
    flags = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(paths) != 2 or set(flags) - {"--reduce-range"}:
        sys.exit(__doc__)
    quantize_dynamic(
        paths[0],
        paths[1],
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range="--reduce-range" in flags,
        op_types_to_quantize=["MatMul", "Gather"],
        # The fused operators have no shape inference, so their outputs' type must be told.
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


if __name__ == "__main__":
    main()
