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

# The options of `swift build` for packages. docs/packaging.md explains the build settings and their effect.
package_options=(-c release --static-swift-stdlib --disable-local-rpath -debug-info-format none
    -Xswiftc -use-ld=lld
    # The digest of each module and its paths, which the compiler stores for incremental builds, is not stored in the file.
    -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
    # Each module is parsed only once. By default, a second process parses it to write its interface.
    -Xswiftc -no-emit-module-separately-wmo
    # Compact relocations, identical functions merged, no exported symbols.
    -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker --strip-all)

# The options in CI, which tests the optimized code and packages it, so that it is compiled only once.
# `link_test_modules` creates the two folders.
ci_options=("${package_options[@]}"
    -Xswiftc -I -Xswiftc "$PWD/.build/test-modules" -Xlinker "-L$PWD/.build/test-libraries")

# Completes the toolchain for tests of static code, because it has no static Swift Testing. SwiftPM links the test runner
# dynamically nevertheless, but compiles it with the folder of the static modules, where those of Swift Testing are
# missing, and with the names of static libraries that are parts of the dynamic Foundation.
link_test_modules() {
    local runtime name library
    runtime=$(swift -print-target-info |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeLibraryPaths"][0])')
    mkdir -p .build/test-modules .build/test-libraries
    for name in Testing.swiftmodule Testing.swiftcrossimport _Testing_Foundation.swiftmodule XCTest.swiftmodule; do
        ln -sfn "$runtime/$name" .build/test-modules
    done
    for library in "${runtime/%swift\/linux/swift_static/linux}"/lib*.a; do
        name=$(basename "$library" .a)
        [ -e "$runtime/$name.so" ] || ar rc ".build/test-libraries/$name.a"
    done
}

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
    # Runs a turn for each pattern in `parts` at the same time: `turns_in_parallel NAME PREFIX OPTION...`. Only the last
    # one prints its output while it runs.
    turns_in_parallel() {
        local part job jobs=() last=$((${#parts[@]} - 1))
        for part in "${parts[@]:0:last}"; do
            (turn "$1-$part" 1800 --filter "$2$part" "${@:3}" >/dev/null && exit $status) &
            jobs+=($!)
        done
        turn "$1-${parts[last]}" 1800 --filter "$2${parts[last]}" "${@:3}"
        for job in "${jobs[@]}"; do wait "$job" || status=$?; done
        for part in "${parts[@]:0:last}"; do cat "$logs/$1-$part"; done
    }
    local parts
    # Parts by the first letter of modules and suites, because many tests wait, and few commands use more than one
    # processor.
    if [ "$selected" != commands ]; then
        parts=('[A-NP]' '[OQ-Z]')
        turns_in_parallel units ^ --skip "$sockets|$commands|$consumers"
        turn sockets 600 --filter "$sockets"
        turn consumers 600 --no-parallel --filter "$consumers"
    fi
    if [ "$selected" != libraries ]; then
        parts=('[ABD-O]' P '[Q-Z]' C)
        turns_in_parallel commands "$commands" --no-parallel
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
