# shellcheck shell=bash
# lib.sh -- functions that scripts/run and scripts/test share: lists of packages, apt, and a progress line. Source it
# from bash.

# The client libraries of stores.
store_packages() {
    sed -n 's/^vesta_store(.* PACKAGE \([^ )]*\).*/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../csrc/store/CMakeLists.txt"
}

# One list per purpose. docs/dependencies.md explains each package.
packages_for() {
    case $1 in
        build) echo gcc libc6-dev cmake ninja-build pkgconf node-llhttp liblua5.4-dev ;;
        use) echo curl redis-tools ;; # for the commands in the README
        run)
            packages_for build
            packages_for use
            ;;
        image)
            packages_for build
            store_packages
            echo libhiredis-dev libssl-dev ca-certificates tzdata
            ;;
        deb) # The Build-Depends of debian/control. A test compares them.
            packages_for build
            store_packages
            echo build-essential debhelper fakeroot libhiredis-dev libssl-dev liblua5.1-0-dev liblua5.2-dev liblua5.3-dev
            echo postgresql-server-dev-15
            ;;
        test)
            packages_for deb
            packages_for use
            echo g++ clang libclang-rt-dev python3 git procps strace make patch
            echo prometheus python3-prometheus-client
            echo lua5.1 lua5.2 lua5.3 lua5.4 luajit2
            echo libluajit2-5.1-dev lua-busted luarocks lua-check nginx libnginx-mod-http-lua libnginx-mod-stream wrk
            echo openssl spin tzdata ca-certificates
            echo iproute2 python3-yaml
            echo man-db mandoc zsh fish
            echo mariadb-server-core mariadb-client-core sqlite3 postgresql pgbouncer libzookeeper-java default-jre-headless
            echo golang-go default-jdk-headless libjna-java php-cli php-fpm ruby haproxy tarantool zabbix-agent2 prometheus-redis-exporter
            echo gunicorn puma
            echo lintian chromium
            echo redis-server python3-redis lua-redis lua-nginx-redis nodejs npm systemd
            ;;
        *) echo "packages_for: unknown purpose $1" >&2; return 1 ;;
    esac
}

missing_packages() {
    local names installed name
    names=$(packages_for "$1")
    # shellcheck disable=SC2086 # names are words, and dpkg prints an error and no line for unknown ones
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $names 2>/dev/null)
    for name in $names; do
        # Node.js from other sources includes npm, and conflicts with Debian's npm.
        [ "$name" != npm ] || ! command -v npm >/dev/null || continue
        grep -qx "installed $name" <<<"$installed" || echo "$name"
    done
}

# quietly LABEL LOG COMMAND...: sends the command's output to LOG, and prints LABEL, with the time every ten seconds.
quietly() {
    local label=$1 log=$2 begun=$SECONDS next=10 rc=0 pid
    shift 2
    echo "$label"
    "$@" >>"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        sleep 0.1
        if [ $((SECONDS - begun)) -ge $next ]; then
            echo "  still running after $next s: $(tail -n 1 "$log" | tr -d '\r' | cut -c1-90)"
            next=$((next + 10))
        fi
    done
    wait $pid || rc=$?
    return $rc
}

# in_turn PRESET COMMAND...: runs a build after other builds in that folder (two stages of scripts/test, or
# scripts/run). A program cannot be started while it is linked.
in_turn() {
    flock build/"$1".lock "${@:2}"
}

# Another user's earlier run leaves a build folder that is not writable.
need_build_folder() {
    mkdir -p build 2>/dev/null
    if [ -n "$(find build -maxdepth 1 ! -writable -print -quit 2>&1)" ]; then
        echo "$PWD/build belongs to another user ($(stat -c %U build 2>/dev/null || echo "it cannot be created")). Run as that user, or remove it." >&2
        exit 2
    fi
}

APT_FLAGS=(-y -q --no-install-recommends --no-remove -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
APT_ENV=(env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C)
POLICY=/usr/sbin/policy-rc.d
POLICY_MARK="# vesta: no service starts while packages are being installed; removed afterwards"

# Sets AS_ROOT for root, or for sudo. AS_ROOT stays unset if neither is available.
find_root() {
    if [ "$(id -u)" = 0 ]; then
        AS_ROOT=()
    elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
        AS_ROOT=(sudo)
    else
        return 1
    fi
}

# Debian starts a service on installation unless this file forbids it. An existing file is left alone.
hold_services() {
    if [ -e "$POLICY" ] && ! grep -qF "$POLICY_MARK" "$POLICY"; then return; fi
    trap 'release_services; exit 130' INT TERM
    printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" | "${AS_ROOT[@]}" tee "$POLICY" >/dev/null
    "${AS_ROOT[@]}" chmod 755 "$POLICY"
}

release_services() {
    if grep -qF "$POLICY_MARK" "$POLICY" 2>/dev/null; then "${AS_ROOT[@]}" rm -f "$POLICY"; fi
    trap - INT TERM
}

explain_apt() {
    local log=$1
    echo "apt could not install the missing packages.  Its last output:"
    grep -E '^(E|W|Err):?' "$log" | tail -n 5 | sed 's/^/  /'
    if grep -qE 'Could not get lock|Unable to acquire the dpkg' "$log"; then
        echo "Another apt or dpkg is running. Wait until it has finished, then run this again."
    elif grep -qE 'Unable to locate package|has no installation candidate' "$log"; then
        echo "This machine's archives lack a package.  vesta is developed on Debian 12 (bookworm), with its main archive."
    elif grep -qE 'remove is disabled|unmet dependencies|held broken' "$log"; then
        echo "An installed package conflicts with a required one. Nothing is removed automatically."
        echo "Known conflict: luajit2 with Debian's luajit and libluajit-5.1-2. Remove these if nothing needs them."
    elif grep -qE 'Temporary failure|Could not (connect|resolve)|Failed to fetch|Connection (failed|timed out)' "$log"; then
        echo "The archive did not answer. Check the network and /etc/apt/sources.list."
    elif grep -qE 'No space left|enough free space' "$log"; then
        echo "The disk is full."
    elif grep -q 'dpkg was interrupted' "$log"; then
        echo "An earlier installation was interrupted. Run dpkg --configure -a, then run this again."
    fi
    echo "Full log: $log"
}

# On a fresh machine the package lists are empty, and on an old one they name packages that no longer exist. Update only
# then.
apt_install() {
    local log=$1 install
    shift
    install=("${AS_ROOT[@]}" "${APT_ENV[@]}" apt-get install "${APT_FLAGS[@]}" "$@")
    if ! "${APT_ENV[@]}" apt-get install -s "${APT_FLAGS[@]}" "$@" >>"$log" 2>&1; then
        update_lists "$log" || return 1
    fi
    quietly "installing $# packages and what they need: $*" "$log" "${install[@]}" && return
    grep -qE '404 +Not Found|Failed to fetch' "$log" || return 1
    update_lists "$log" && quietly "installing again, with fresh lists" "$log" "${install[@]}"
}

update_lists() {
    : >"$1" # Discard apt's errors about the old lists.
    quietly "fetching apt's package lists (apt-get update)" "$1" "${AS_ROOT[@]}" "${APT_ENV[@]}" apt-get update -q \
        -o DPkg::Lock::Timeout=120
}

# install_packages PURPOSE LOG: installs missing packages, or exits with 2 and prints the command to run.
install_packages() {
    local purpose=$1 log=$2 missing
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
        echo "This is not Debian. Install the packages in docs/dependencies.md, then run: cmake --preset release && cmake --build --preset release"
        exit 2
    }
    missing=$(missing_packages "$purpose")
    if [ -z "$missing" ]; then
        echo "packages: all $(packages_for "$purpose" | wc -w) are installed"
        return
    fi
    if ! find_root; then
        echo "Packages are missing, and their installation needs root or sudo.  Run this as root, then try again:"
        echo "  apt-get update && apt-get install --no-install-recommends --no-remove" $missing
        exit 2
    fi
    mkdir -p "$(dirname "$log")"
    : >"$log"
    hold_services
    # shellcheck disable=SC2086
    if ! apt_install "$log" $missing; then
        release_services
        explain_apt "$log" >&2
        exit 2
    fi
    release_services
}
