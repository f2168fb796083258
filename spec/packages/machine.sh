# machine.sh -- a machine with systemd for the specs of packages: the current root with its own process 1, started by
# spec/packages/boot. Source it after claims.sh and scripts/lib.sh. It contains nothing specific to vesta.
AS_ROOT=()
init='' unshared=''
# Runs a command where systemd is process 1, once it is started.
inside() {
    if [ -n "$init" ]; then
        nsenter --target "$init" --mount --pid --ipc --uts --cgroup --root --wd env -i HOME=/root PATH="$PATH" "$@"
    else
        "$@"
    fi
}
apt() { inside "${APT_ENV[@]}" apt-get "$1" -y -q --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "${@:2}"; }

group=/sys/fs/cgroup/vesta-life-$(date +%s) # the parent of the services' cgroups
boots() {
    apt install systemd || return 1
    mount -t cgroup2 cgroup2 /sys/fs/cgroup && mkdir $group || return 1
    (
        echo $BASHPID >$group/cgroup.procs
        exec unshare --mount --pid --ipc --uts --cgroup --fork --kill-child spec/packages/boot
    ) >"$dir/boot" 2>&1 &
    unshared=$!
    for _ in $(seq 600); do
        init=$(grep -lsx "PPid:.$unshared" /proc/[0-9]*/status | cut -d/ -f3)
        [ -n "$init" ] && inside systemctl is-system-running && return
        init=''
        sleep 0.1
    done
    cat "$dir/boot"
    return 1
}

ends() {
    kill -KILL $unshared # Process 1 ignores other signals, and its child ends with it.
    wait $unshared
    for _ in $(seq 100); do # Its processes are ending.
        find $group -depth -type d -exec rmdir {} +
        [ -e $group ] || return
        sleep 0.1
    done
} 2>/dev/null

# The network is shared with the machine, where ports may be in use.
free_port() {
    while port=$((20000 + RANDOM % 10000)) && (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do :; done
    echo $port
}
http=127.0.0.1:$(free_port) resp=127.0.0.1:$(free_port)
main_pid() { inside systemctl show --property MainPID --value vesta; }
