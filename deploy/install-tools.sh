#!/usr/bin/env bash
# Puts the tools that judge deploy/ and helm/ into one folder outside of the checkout, once per version:
#   install-tools.sh FOLDER [TOOL...]     all tools by default; the folder bin in FOLDER is for PATH
set -euo pipefail

folder=$1
shift
mkdir -p "$folder/bin"

say() { echo "install-tools: $*" >&2; }

# Unpacked, not installed: that would start a service, and needs root.
install_prometheus() {
    if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
        return
    fi
    if ! command -v apt-get >/dev/null; then
        say "install prometheus and promtool first (Debian: apt-get install prometheus)"
        return 1
    fi
    local unpacked="$folder/prometheus"
    mkdir -p "$unpacked"
    (
        cd "$unpacked"
        if ! apt-get download --quiet prometheus; then
            test "$(id -u)" = 0 || { say "apt-get has no list of packages: run apt-get update as root first"; exit 1; }
            apt-get update --quiet
            apt-get download --quiet prometheus
        fi
        dpkg --extract prometheus_*.deb .
        rm prometheus_*.deb
    )
    ln -sf "$unpacked/usr/bin/prometheus" "$unpacked/usr/bin/promtool" "$folder/bin/"
}

tools=("$@")
if [ ${#tools[@]} = 0 ]; then
    tools=(prometheus)
fi
export PATH="$folder/bin:$PATH"
for tool in "${tools[@]}"; do
    "install_$tool"
done
