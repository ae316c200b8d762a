#!/bin/sh
# A complete session on a temporary device: generates, serves, browses, imports and verifies credentials.
set -eu
scratch=$(mktemp -d)
export KEYSHARE_DEVICE="$scratch/device"
unset KEYSHARE_SOCKET || true
provider=
finish() {
    [ -z "$provider" ] || kill "$provider" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT

keyshare-provider provision --person 'Dana Example'
keyshare-provider serve &
provider=$!
until keyshare-consumer browse >/dev/null 2>&1; do kill -0 "$provider"; done
keyshare-consumer browse piv --uti purebred2025.select.authentication-p12
keyshare-consumer import Encryption.zip --uti purebred2025.zip.encryption --require encryption:4
keyshare-provider trust -o "$scratch/trust.pem"
keyshare-consumer verify --trust "$scratch/trust.pem" --allow-expired
