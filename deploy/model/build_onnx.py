#!/usr/bin/env python3
"""Build the ONNX graph of a BERT sentence encoder straight from its safetensors, without a training framework.

Usage: build_onnx.py MODEL_FOLDER OUT.onnx

MODEL_FOLDER holds config.json and model.safetensors with the tensor names of the transformers library.

The graph:
  input_ids       int64 [batch, length]
  attention_mask  int64 [batch, length], 1 for a token and 0 for padding; padding stands at the right
  sentence_embedding  float32 [batch, dims], the mean of the token vectors under the mask, of length 1

Pooling and normalisation are in the graph, so a caller needs no arithmetic of its own. Query, key and value share
one matrix product; attention and GELU are the runtime's fused operators (domain com.microsoft).
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

CONTRIB = "com.microsoft"
OPSET = 18
IR_VERSION = 9


class Graph:
    """Nodes and constants of a graph under construction; each node is named after its single output."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = []
        # Some checkpoints keep the encoder under a prefix.
        self.prefix = "" if "embeddings.word_embeddings.weight" in weights else "bert."

    def weight(self, name):
        return self.weights[self.prefix + name].astype(np.float32)

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def indices(self, name, *values):
        return self.constant(name, np.array(values, np.int64))

    def node(self, operator, inputs, output, domain=None, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def layer_norm(self, value, source, output, epsilon):
        gain = self.constant(f"{output}_gain", self.weight(f"{source}.weight"))
        bias = self.constant(f"{output}_bias", self.weight(f"{source}.bias"))
        return self.node("LayerNormalization", [value, gain, bias], output, axis=-1, epsilon=epsilon)

    def affine(self, value, matrix, bias, output):
        product = self.node("MatMul", [value, self.constant(f"{output}_matrix", matrix)], f"{output}_product")
        return self.node("Add", [product, self.constant(f"{output}_bias", bias)], output)

    def linear(self, value, source, output):
        return self.affine(value, self.weight(f"{source}.weight").T, self.weight(f"{source}.bias"), output)


def embed_tokens(graph, config):
    """Word, position and type vectors, summed and normalised. Every token has type 0, so it joins the positions."""
    positions = graph.weight("embeddings.position_embeddings.weight")[: config["max_position_embeddings"]]
    positions = positions + graph.weight("embeddings.token_type_embeddings.weight")[0]
    words = graph.constant("word_vectors", graph.weight("embeddings.word_embeddings.weight"))
    graph.node("Gather", [words, "input_ids"], "words")
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Slice", ["shape", graph.indices("one", 1), graph.indices("two", 2)], "length")
    table = graph.constant("position_vectors", positions)
    graph.node("Slice", [table, graph.indices("zero", 0), "length", graph.indices("axis0", 0)], "positions")
    graph.node("Add", ["words", "positions"], "embedded")
    return graph.layer_norm("embedded", "embeddings.LayerNorm", "embedded_norm", config["layer_norm_eps"])


def transformer_layer(graph, config, value, number):
    """One encoder layer: attention and feed-forward, each with its residual and norm after it."""
    source, name = f"encoder.layer.{number}", f"layer{number}"
    heads = ("query", "key", "value")
    matrix = np.concatenate([graph.weight(f"{source}.attention.self.{head}.weight").T for head in heads], axis=1)
    bias = np.concatenate([graph.weight(f"{source}.attention.self.{head}.bias") for head in heads])
    joined = graph.affine(value, matrix, bias, f"{name}_qkv")
    parts = [f"{name}_{head}" for head in heads]
    graph.nodes.append(
        helper.make_node("Split", [joined], parts, name=f"{name}_split", axis=-1, num_outputs=len(parts))
    )
    attended = graph.node(
        "MultiHeadAttention",
        [*parts, "", "key_mask"],
        f"{name}_attention",
        domain=CONTRIB,
        num_heads=config["num_attention_heads"],
    )
    attended = graph.linear(attended, f"{source}.attention.output.dense", f"{name}_attention_out")
    graph.node("Add", [attended, value], f"{name}_residual1")
    epsilon = config["layer_norm_eps"]
    middle = graph.layer_norm(f"{name}_residual1", f"{source}.attention.output.LayerNorm", f"{name}_norm1", epsilon)
    wide = graph.linear(middle, f"{source}.intermediate.dense", f"{name}_wide")
    wide = graph.node("Gelu", [wide], f"{name}_gelu", domain=CONTRIB)
    narrow = graph.linear(wide, f"{source}.output.dense", f"{name}_narrow")
    graph.node("Add", [narrow, middle], f"{name}_residual2")
    return graph.layer_norm(f"{name}_residual2", f"{source}.output.LayerNorm", f"{name}_norm2", epsilon)


def pool(graph, value):
    """The mean of the token vectors under the mask, brought to length 1."""
    axis1, axis2 = graph.indices("axis1", 1), graph.indices("axis2", 2)
    graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["mask", axis2], "mask3")
    graph.node("Mul", [value, "mask3"], "masked")
    graph.node("ReduceSum", ["masked", axis1], "sum", keepdims=0)
    graph.node("ReduceSum", ["mask", axis1], "count", keepdims=1)
    graph.node("Div", ["sum", "count"], "mean")
    return graph.node("LpNormalization", ["mean"], "sentence_embedding", axis=-1, p=2)


def build(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
        sys.exit(f"{folder}/config.json: only BERT encoders with GELU are known, not {config['model_type']}")
    graph = Graph(load_file(folder / "model.safetensors"))
    value = embed_tokens(graph, config)
    graph.node("Cast", ["attention_mask"], "key_mask", to=TensorProto.INT32)
    for number in range(config["num_hidden_layers"]):
        value = transformer_layer(graph, config, value, number)
    output = pool(graph, value)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", config["hidden_size"]])]
    return helper.make_model(
        helper.make_graph(graph.nodes, "sentence_encoder", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
        ir_version=IR_VERSION,
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    onnx.save(build(pathlib.Path(sys.argv[1])), sys.argv[2])
