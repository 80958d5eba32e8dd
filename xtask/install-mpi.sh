#!/usr/bin/env bash
# Installs what the feature `mpi` of evenpath-distributed needs to build and run: Debian's Open MPI, and libclang. As root, or with
# sudo. Run again, it installs only what is missing.
set -euo pipefail

packages=(libopenmpi-dev openmpi-bin libclang-dev)

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
        missing+=("$package")
done
if ((${#missing[@]})); then
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
mpirun --version | head -n 1
