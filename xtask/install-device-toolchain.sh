#!/usr/bin/env bash
# Installs a compiler for PTX, for `cargo xtask ptx`. Users of evenpath do not need it: the PTX
# is checked in.
#
#   xtask/install-device-toolchain.sh            Debian packages if apt has them, otherwise rustup
#   xtask/install-device-toolchain.sh debian     Debian's packages; as root, or with sudo
#   xtask/install-device-toolchain.sh rustup     a nightly of rustup
#
# Run again, it installs only what is missing.
set -euo pipefail

nightly=nightly-2026-04-02
packages=(rustc-web rust-web-src cargo-web llvm-22)

main() {
    local way=${1:-}
    if [[ -z $way ]]; then
        if command -v apt-get >/dev/null && knows_packages; then way=debian; else way=rustup; fi
    fi
    case $way in
        debian) install_debian ;;
        rustup) install_rustup ;;
        *) echo "usage: $0 [debian|rustup]" >&2; exit 2 ;;
    esac
}

knows_packages() {
    has_candidates || { as_root apt-get update -qq && has_candidates; }
}

# `apt-cache show` of several packages is content with one.
has_candidates() {
    local package
    for package in "${packages[@]}"; do
        apt-cache show "$package" >/dev/null 2>&1 || return
    done
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

install_debian() {
    local missing=() package
    for package in "${packages[@]}"; do
        dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    if ((${#missing[@]})); then
        knows_packages || { echo "apt does not know all of: ${packages[*]}" >&2; exit 1; }
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
    fi
    build_linker
}

# The packages lack llvm-bitcode-linker, but have its source. It goes where xtask looks for it.
build_linker() {
    local release source bin scratch
    release=$(/usr/bin/rustc --version --verbose | sed -n 's/^release: //p')
    source=$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust
    bin=${XDG_CACHE_HOME:-$HOME/.cache}/evenpath/device-toolchain-$release/bin
    if [[ ! -x $bin/llvm-bitcode-linker ]]; then
        scratch=$(mktemp -d)
        # shellcheck disable=SC2064 # the folder's name as it is now
        trap "rm -rf '$scratch'" EXIT
        cp -r "$source/src/tools/llvm-bitcode-linker/." "$source/Cargo.lock" "$scratch"
        echo '[workspace]' >>"$scratch/Cargo.toml"
        (
            cd "$scratch"
            unset RUSTC RUSTFLAGS RUSTC_WRAPPER CARGO_BUILD_TARGET
            RUSTC=/usr/bin/rustc CARGO_TARGET_DIR=target /usr/bin/cargo build --quiet --release
        )
        install -D "$scratch/target/release/llvm-bitcode-linker" "$bin/llvm-bitcode-linker"
    fi
    echo "device toolchain: $(/usr/bin/rustc --version), $bin/llvm-bitcode-linker"
}

install_rustup() {
    command -v rustup >/dev/null || { echo "rustup is not installed: see https://rustup.rs" >&2; exit 1; }
    rustup toolchain install "$nightly" --profile minimal \
        --component rust-src --component llvm-tools --component llvm-bitcode-linker
    echo "device toolchain: $(rustc "+$nightly" --version)"
}

main "$@"
