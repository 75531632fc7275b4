#!/usr/bin/env bash
# The demo: index a repository that nobody here wrote and ask it in plain words. Called by `make demo`, which sets up.
#
# Environment: REPO   the folder to search; default: the sources of the crate rustls that Cargo.lock names
#              QUERY  one question; default for rustls: the twenty of questions.jsonl, with the rank of the right file
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

cargo build --release --locked --package sextant-client --package sextant-tests
programs=${CARGO_TARGET_DIR:-target}/release

# The folder where cargo unpacked a dependency's sources.
sources_of() {
    cargo metadata --locked --format-version 1 | python3 -c '
import json, pathlib, sys
found = [p for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1]]
print(pathlib.Path(found[0]["manifest_path"]).parent)' "$1"
}

if [[ -n ${REPO:-} ]]; then
    repository=${REPO/#\~/$HOME}
    [[ -n ${QUERY:-} ]] || { echo "demo: with REPO say QUERY=\"...\" too" >&2; exit 2; }
else
    repository=$(sources_of rustls)
fi

if [[ -z ${REPO:-} && -z ${QUERY:-} ]]; then
    exec "$programs/sextant-eval" demo --repo "$repository" --questions "$here/questions.jsonl"
fi

# The demo keeps its own index, so that it starts from nothing each time.
data=$(mktemp -d)
trap '"$programs/sextant" daemon stop >/dev/null; rm -rf "$data"' EXIT
export SEXTANT_DATA_DIR=$data
"$programs/sextant" index "$repository"
"$programs/sextant" search "$QUERY" "$repository"
