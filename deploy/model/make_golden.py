#!/usr/bin/env python3
"""Make the golden embeddings: the encoder in plain 64-bit arithmetic, apart from ONNX and its runtime.

Usage: make_golden.py MODEL_FOLDER > golden.json

Needs numpy, safetensors and tokenizers. Only for a change of model or texts; set-up reads the result alone.
"""

import json
import pathlib
import sys
from math import erf

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAX_TOKENS = 256
TEXTS = [
    "where are session tokens refreshed",
    "src/pool.rs\npub fn acquire(&self, timeout: Duration) -> Result<Permit, Closed> { self.queue.wait(timeout) }",
    "A lighthouse keeper polishes the lens every evening.",
]


class Encoder:
    """A BERT encoder over the tensors of the transformers library; one text at a time."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "model.safetensors")
        self.tensors = {name: value.astype(np.float64) for name, value in tensors.items() if value.dtype != np.int64}

    def norm(self, value, name):
        centred = value - value.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(value.var(-1, keepdims=True) + self.config["layer_norm_eps"])
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def linear(self, value, name):
        return value @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def attention(self, value, name):
        heads, width = self.config["num_attention_heads"], self.config["hidden_size"]
        query, key, content = (
            self.linear(value, f"{name}.self.{part}").reshape(len(value), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width / heads)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.linear((weights @ content).transpose(1, 0, 2).reshape(len(value), width), f"{name}.output.dense")

    def encode(self, ids):
        table = self.tensors["embeddings.word_embeddings.weight"][ids]
        table = table + self.tensors["embeddings.position_embeddings.weight"][: len(ids)]
        value = self.norm(table + self.tensors["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{number}"
            attended = self.attention(value, f"{name}.attention")
            value = self.norm(attended + value, f"{name}.attention.output.LayerNorm")
            wide = self.linear(value, f"{name}.intermediate.dense")
            wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
            value = self.norm(self.linear(wide, f"{name}.output.dense") + value, f"{name}.output.LayerNorm")
        mean = value.mean(0)
        return mean / np.linalg.norm(mean)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    encoder, tokenizer = Encoder(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    # The file pads and cuts to 128 tokens, which the encoder was not limited to.
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    cases = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        embedding = [round(float(number), 6) for number in encoder.encode(ids)]
        cases.append(json.dumps({"text": text, "token_ids": ids, "embedding": embedding}))
    print('{\n  "model": "all-MiniLM-L6-v2",\n  "cases": [\n    ' + ",\n    ".join(cases) + "\n  ]\n}")


if __name__ == "__main__":
    main()
