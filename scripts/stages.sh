# shellcheck shell=bash disable=SC2034,SC2154
# stages.sh -- the stages of scripts/test. Most stages are a preset and the tests with a label. A stage appends lines
# `PASSED FAILED SKIPPED` to its count file, prints failures, and returns 1 on any failure.

# name | time limit in minutes | label of its tests in the debug build | description
# The limits end stages that hang, also on a machine with other load.
# The first stage consists of parts of others, for use during development, and runs only by name.
STAGES='
quick    | 10 |         | enough for most changes: layers, unit tests, cli, docs, one Lua, two specs of the server, without bench_rows
release  | 16 |         | the release preset, warnings as errors
c        | 16 |         | the debug preset: every test without its own stage
asan     | 16 |         | C tests, and the specs of the program in spec/memory.txt, under AddressSanitizer and UndefinedBehaviorSanitizer
tsan     | 16 |         | tests of threads and shared memory, under ThreadSanitizer
fuzz     | 16 |         | each libFuzzer target for 10 seconds from its seeds, or for 4 if it finds nothing new later
layers   | 16 | layers  | includes point downward, and memory orders have partners
scripts  | 16 | scripts | scripts/run and scripts/test on different machines
sim      | 16 | sim     | crashes, forks, pauses and clock steps in virtual time: 20,000 seeds, written schedules, and mutants that must die
leases   | 20 | leases  | processes that issue ids while stores are stopped, emptied or cut off: every id is counted
server   | 16 | server  | HTTP and the Redis protocol from the side of clients
regress  | 16 | regress | fixed defects, one file each, named after its claim
clients  | 16 | clients | stock Redis clients: ids, batches, transactions, passwords, exact to the digit
stores   | 16 | stores  | leases on SQLite, MariaDB, PostgreSQL and ZooKeeper, and failures of these
cli      | 16 | cli     | the command line
lua      | 16 | lua     | the Lua specs and examples under five interpreters
rock     | 16 | rock    | luarocks builds the rock offline, for three Luas
nginx    | 16 | nginx   | the nginx example under load, after a reload and with a killed worker
beside   | 16 | beside  | the examples for HAProxy and Tarantool, and plugins for APISIX and Kong with a stand-in
install  | 16 | install | cmake --install and its use, the Debian packages, the container image, and pods
docs     | 16 | docs    | the commands in README and docs print the output shown there
'
# They run no C code of ours, or would be far too slow.
NOT_FOR_SANITIZERS='layers|scripts|install|docs|lua|rock|nginx|beside|browser|sim|leases|prove'
# Specs of the program. Those in spec/memory.txt run under AddressSanitizer here, and all of them in scripts/prove asan.
OF_THE_PROGRAM='cli|server|stores|clients|regress'

jobs=$(nproc)

# build PRESET: builds everything, or the target with all that its stage runs
build() {
    local target=all
    case $1 in tsan) target=thread_specs ;; fuzz) target=fuzzers ;; esac
    in_turn "$1" cmake --preset "$1" && in_turn "$1" cmake --build --preset "$1" --target $target -j "$jobs"
}

# tests PRESET CTEST-FLAGS...: builds the preset, runs those tests and counts them
tests() {
    local preset=$1 xml=$PWD/$OUT/$stage.xml counted rc=0 at_once=$jobs
    shift
    build "$preset" || return 1
    rm -f "$xml"
    # Tests that mostly wait. Three stages run at the same time, and together keep the processors busy, but not the queue
    # for them long.
    case $stage in
        leases | regress | stores | server | cli | clients | lua) at_once=$((5 * jobs / 2)) ;;
        asan | tsan | c) at_once=$((2 * jobs)) ;;
        quick) at_once=$((5 * jobs)) ;;
    esac
    # Having no test at all is also a failure.
    (cd build/"$preset" && ctest -j "$at_once" --no-tests=error --output-junit "$xml" \
        --test-output-size-passed 1000000 --test-output-size-failed 1000000 "$@") || rc=$?
    [ -f "$xml" ] || return 1
    counted=$(python3 scripts/count.py "$xml") || return 1
    sed '$d' <<<"$counted"
    # shellcheck disable=SC2046 # three numbers
    count $(tail -n 1 <<<"$counted") && return $rc
}

# names PRESET CTEST-FLAGS...: prints the names of these tests as a regular expression
names() { (cd build/"$1" && ctest -N "${@:2}") | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/[.+]/\\&/g'; }

# count PASSED FAILED SKIPPED
count() {
    echo "$*" >>$OUT/"$stage".count
    [ "$2" = 0 ]
}

# Prints labels of tests that have their own stage, as ctest expects them. The stage c runs all others, so that no test
# is forgotten.
own_labels() { awk -F'|' 'NF == 4 { gsub(/ /, "", $3); if ($3 != "") printf "%s%s", n++ ? "|" : "", $3 }' <<<"$STAGES"; }

run_inside() {
    local label
    label=$(stage_field "$stage" 3)
    if [ -n "$label" ]; then tests debug -L "^$label\$"; else "stage_$stage"; fi
}

# In one run of ctest, tests that compute run next to tests that wait. bench_rows is left out, because it measures for
# 50 s.
stage_quick() {
    build debug || return 1
    tests debug -R "^($({
        names debug -R '^(layers|atomics|sim_replay|lua-lua5\.4|server_routes|server_redis)$'
        names debug -L '^(cli|docs)$'
        names debug -LE "^($(own_labels)|prove|bench)\$"
    } | paste -sd'|'))\$"
}
stage_release() { build release && count 1 0 0; }
stage_c() { tests debug -LE "^($(own_labels)|prove)\$"; } # scripts/prove runs these.
stage_tsan() { tests tsan -L '^thread$'; }
stage_asan() {
    local listed specs
    build asan || return 1
    listed=$(grep -v '^#' spec/memory.txt)
    specs=$(names asan -R "^($(paste -sd'|' <<<"$listed"))\$" | sort)
    if [ "$specs" != "$listed" ]; then
        echo "spec/memory.txt names specs that do not exist, or is not sorted: correct these lines"
        diff <(echo "$listed") <(echo "$specs")
        return 1
    fi
    tests asan -R "^($({ echo "$specs"; names asan -LE "^($NOT_FOR_SANITIZERS|$OF_THE_PROGRAM)\$"; } | paste -sd'|'))\$"
}
stage_fuzz() { tests fuzz -L '^fuzz$'; }
