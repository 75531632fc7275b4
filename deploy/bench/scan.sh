#!/usr/bin/env bash
# Times scans against the read limit of the memory, and against other programs on the same codes in the same run.
#
# Environment: CODES  folder with codesB.bin and queriesB.bin (B: bits; rows of little-endian words); random where unset
#              PEERS  1: FAISS and usearch too (needs CODES); brings them into the asset folder once
#              JSON   where to write the tables as JSON; the bits go before the file's ending
#              QUICK  1: 200,000 vectors of 2,048 bits
#              ROWS   vectors; default 1,000,000
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
assets=${SEXTANT_ASSETS:-${XDG_CACHE_HOME:-${HOME:?set HOME or SEXTANT_ASSETS}/.cache}/sextant}
rows=${ROWS:-1000000}
widths=(2048 4096)
if [[ -n ${QUICK:-} ]]; then rows=200000 widths=(2048); fi

peers=()
if [[ -n ${PEERS:-} ]]; then
    [[ -n ${CODES:-} ]] || { echo "bench-scan: PEERS needs CODES, a folder of codes that both sides read" >&2; exit 1; }
    venv=$assets/scan-peers
    if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
        cp "$here/requirements.txt" "$venv/requirements.txt"
    fi
    peers=(--peers "$venv/bin/python" "$here/scan_peers.py")
fi

for bits in "${widths[@]}"; do
    flags=(--rows "$rows" --bits "$bits" "${peers[@]}")
    if [[ -n ${CODES:-} ]]; then
        codes=$(realpath "$CODES")
        flags+=(--codes "$codes/codes$bits.bin" "$codes/queries$bits.bin")
    fi
    if [[ -n ${JSON:-} ]]; then flags+=(--json "$(realpath -m "${JSON%.json}-$bits.json")"); fi
    cargo bench --locked --quiet --package sextant-shard --bench scan -- "${flags[@]}"
done
