#!/usr/bin/env bash
# Checks the dependencies against deny.toml. Advisories need a database that is fetched from the network: where it
# cannot be had, this says so and checks the rest, which needs nothing but Cargo.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo deny --locked --all-features check bans licenses sources
if cargo deny fetch db >/dev/null 2>&1; then
    cargo deny --locked --all-features check advisories
else
    echo "deny: NOT CHECKED: known vulnerabilities. The advisory database (rustsec/advisory-db) could not be fetched" \
        "from here; run 'make check' again where the network allows it." >&2
fi
