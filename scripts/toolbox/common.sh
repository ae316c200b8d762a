# Sourced by the bash scripts. Stops the script at its first error, changes to the package's folder, implements --help,
# and holds the functions that several scripts need.
set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Prints the comment at the head of the calling script.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script"; }

case ${1-} in
    -h | --help)
        usage
        exit 0
        ;;
esac

# Ends the script because its arguments are wrong (EX_USAGE of sysexits.h).
refuse_arguments() {
    usage >&2
    exit 64
}

# The options of `swift build` in CI: optimized code without debug information, in which the tests take a third of the
# time. One process compiles each module; by default, a second one parses it again to write its interface.
ci_options=(-c release -debug-info-format none -Xswiftc -enable-testing -Xswiftc -use-ld=lld
    -Xswiftc -num-threads -Xswiftc 1 -Xswiftc -no-emit-module-separately-wmo)

# Builds the commands and every test with these options of `swift build`. Sets `folder` to their path.
build_tests() {
    folder=$(scripts/toolbox/built-tests "$@")
}

# Runs the tests in `folder` in turns: `test_in_turns PART`. PART is `commands` for the end-to-end tests, `libraries`
# for all others, or `all`.
#
# Tests that compute for a long time would starve tests that use sockets. Tests of the built commands and of consumers
# need all processors. These run one test at a time, because starting a process reads the list of open files, and
# Foundation reads past the end of a long one. Tests of the module Conformance have their own process, because it
# becomes the parent of abandoned child processes, and Swift Testing waits for every child at each of its exit tests.
#
# `patience` multiplies the time limit of a turn, for builds that are slower than usual.
test_in_turns() {
    local selected=$1 status=0 consumers='^ConformanceTests\.' commands='^EndToEndTests\.'
    local sockets='KeyShareServerTests|TokenServiceTests|KeyShareClientTests|LoopbackHTTPTests|KeyShareConsumerTests|SharingChannelsTests'
    # A crash ends the run immediately; a backtrace of that many threads would take too long.
    export SWIFT_BACKTRACE=enable=no
    # The failures of all turns are printed again at the end.
    local logs
    logs=$(mktemp -d)
    # Runs the executable itself, because `swift test` locks its build database, and parallel turns would find it locked.
    turn() {
        timeout $(($2 * ${patience:-1})) "$folder/KeySharingPackageTests.xctest" --testing-library swift-testing "${@:3}" \
            2>&1 | tee "$logs/$1" || status=$?
    }
    if [ "$selected" != commands ]; then
        turn units 1800 --skip "$sockets|$commands|$consumers"
        turn sockets 600 --filter "$sockets"
        turn consumers 600 --no-parallel --filter "$consumers"
    fi
    if [ "$selected" != libraries ]; then
        # Four parts in parallel, because few commands use more than one processor, and many tests wait.
        local part parts=()
        for part in '[ABD-O]' P '[Q-Z]'; do
            (turn "commands-$part" 1800 --no-parallel --filter "$commands$part" >/dev/null && exit $status) &
            parts+=($!)
        done
        turn commands-C 1800 --no-parallel --filter "${commands}C"
        for part in "${parts[@]}"; do wait "$part" || status=$?; done
        cat "$logs"/commands-[!C]*
    fi
    if [ $status -ne 0 ]; then
        printf '\nFailures (%d):\n' $status
        # A crash has no line of its own, so the last lines of each turn are printed, too.
        grep -hE '✘|rror: ' "$logs"/* || true
        tail -n 3 "$logs"/*
    fi
    rm -r "$logs"
    return $status
}
