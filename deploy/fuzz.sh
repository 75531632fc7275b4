#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (60) and fails where one finds a crash. Corpora and findings stay in the
# fuzz folders, which git ignores. FUZZ_TARGET_DIR keeps the instrumented builds elsewhere. `make fuzz` calls it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${FUZZ_SECONDS:-60}

# fuzz PACKAGE TARGET SEEDS OPTION...: SEEDS is a folder of samples, read and never written; empty where there is none.
fuzz() {
    local package=$1 target=$2 seeds=$3
    shift 3
    printf '== %s %s, %s s\n' "$package" "$target" "$seconds"
    (
        cd "$root/$package"
        # The environment's flags and target folder are those of the product's own build.
        unset RUSTFLAGS CARGO_TARGET_DIR
        mkdir -p "fuzz/corpus/$target"
        cargo +nightly fuzz run ${FUZZ_TARGET_DIR:+--target-dir "$FUZZ_TARGET_DIR/$package"} "$target" \
            "fuzz/corpus/$target" ${seeds:+"$seeds"} -- \
            -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 -print_final_stats=1 "$@"
    )
}

fuzz client-agent chunk src/chunk/tests/constructs -max_len=8192 -len_control=0 -dict=fuzz/chunk.dict
fuzz client-agent embed_input src/chunk/tests/constructs -max_len=4096
fuzz proto decode "" -max_len=65536
