#!/usr/bin/env python3
"""Check an encoder against the golden embeddings: the same tokens must give nearly the same direction.

Usage: verify.py MODEL.onnx GOLDEN.json [LEAST_COSINE]

The golden file holds texts, their token ids, and the embeddings that the full-precision weights give (computed apart
from ONNX and its runtime). One text a run. Exit status 1 below the least cosine (default 0.97).
"""

import json
import pathlib
import sys

import numpy as np
import onnxruntime


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    least = float(sys.argv[3]) if len(sys.argv) == 4 else 0.97
    golden = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    failed = False
    for case in golden["cases"]:
        ids = np.array([case["token_ids"]], np.int64)
        (result,) = session.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        vector, expected = result[0].astype(np.float64), np.array(case["embedding"])
        cosine = float(vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected))
        good = vector.shape == expected.shape and cosine >= least
        failed = failed or not good
        print(f"{'ok' if good else 'FAULT'}  cosine {cosine:.5f}  {case['text']!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
