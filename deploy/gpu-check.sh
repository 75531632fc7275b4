#!/usr/bin/env bash
# For a machine with an NVIDIA GPU: questions and texts a second on it, and how far its codes agree with the CPU's.
#
# NOT RUN YET: written without such a machine at hand. It wants CUDA 13, cuDNN 9 and the library and providers of
# onnxruntime-gpu (same version as deploy/setup.sh brings for the CPU) in the folder that ORT_GPU names.
#
# Usage: ORT_GPU=/path/to/libs deploy/gpu-check.sh [OUT_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-gpu-check}
: "${ORT_GPU:?set ORT_GPU to the folder with the GPU build of libonnxruntime.so and its providers}"
command -v nvidia-smi >/dev/null || { echo "gpu-check: no nvidia-smi; is there a GPU on this machine?" >&2; exit 2; }
mkdir -p "$out"
nvidia-smi >"$out/gpu.txt"
eval "$(deploy/setup.sh --print-env)"
export LD_LIBRARY_PATH=$ORT_GPU${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

bench() { cargo bench --locked --package sextant-embed --bench embed -- "$@"; }
echo "== CPU" && bench --device cpu --codes "$out/cpu.codes" --json "$out/cpu.json"
for batch in 1 2 4 8 16 32 64; do
    echo "== GPU, batches of at most $batch"
    bench --device cuda --library "$ORT_GPU/libonnxruntime.so" --batch "$batch" \
        --codes "$out/gpu-$batch.codes" --json "$out/gpu-$batch.json"
done
python3 - "$out" <<'PY'
import pathlib, sys
out = pathlib.Path(sys.argv[1])
cpu = (out / "cpu.codes").read_bytes()
for codes in sorted(out.glob("gpu-*.codes")):
    gpu = codes.read_bytes()
    if len(gpu) != len(cpu):
        sys.exit(f"{codes}: {len(gpu)} bytes where the CPU made {len(cpu)}")
    apart = sum((a ^ b).bit_count() for a, b in zip(cpu, gpu))
    print(f"{codes.stem}: {100 * apart / (8 * len(cpu)):.3f} % of bits differ from the CPU's")
PY
