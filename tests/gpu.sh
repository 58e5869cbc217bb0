#!/bin/sh
# Not in make check: everything that a GPU can show, in one go.
#
#     tests/gpu.sh [BUILD [ARCHS]]
#
# Builds in BUILD (default: build-gpu), for ARCHS (default: sm_90), runs the
# kernel table, models and whole runs on the GPU, and, where it is found,
# compute-sanitizer over the kernel table. One line at the end says how it went;
# the exit status is 0 if all went well.
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=${1:-build-gpu}
archs=${2:-sm_90}
jobs=$(nproc)
started=$(date +%s)
failed=

[ -x "$here/configure" ] || (cd "$here" && autoreconf -fi) || exit 1
mkdir -p "$build" && cd "$build" || exit 1
[ -f Makefile ] || "$here/configure" CUDA_ARCHS="$archs" >configure.log 2>&1 || {
    tail -5 configure.log
    exit 1
}
kernels="tests/unit/kernels_rows tests/unit/kernels_product"
kernels="$kernels tests/unit/kernels_attention tests/unit/kernels_head tests/unit/kernels_attention_mma"
# shellcheck disable=SC2086 # a list
make -j"$jobs" all $kernels tests/unit/comm_device >make.log 2>&1 || {
    tail -20 make.log
    exit 1
}
./rlflow check "$here/tests/e2e/tiny.rlf" --device cuda >check.log 2>&1 || {
    sed 's/^/gpu.sh: /' check.log
    exit 3
}

make -j"$jobs" check TESTS="$kernels tests/gpu_runs.tap tests/unit/comm_device" >check.log 2>&1 ||
    failed="$failed tests"
grep -E '^# (TOTAL|PASS|SKIP|FAIL|ERROR):' check.log
grep -E '^(FAIL|ERROR):' check.log

# sanitize TOOL: the test programs, a minute each, side by side
sanitizer=$(command -v compute-sanitizer ||
    ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
sanitize() {
    for program in $kernels; do
        log=$1.${program##*/}.log
        (
            RLFLOW_TEST_QUICK=1 RLFLOW_SOURCE=$here timeout 60 "$sanitizer" \
                --tool "$1" --error-exitcode 9 "./$program" >"$log" 2>&1
            echo "exit status $?" >>"$log"
        ) &
    done
    wait
    for program in $kernels; do
        log=$1.${program##*/}.log
        case $(tail -1 "$log") in
        'exit status 0') ;;
        'exit status 124') echo "$1 ${program##*/}: not to its end" ;;
        *)
            grep -m 5 '=====' "$log"
            failed="$failed $1:${program##*/}"
            ;;
        esac
    done
}
if [ -n "$sanitizer" ]; then
    for tool in memcheck racecheck synccheck; do
        sanitize $tool
    done
else
    echo "compute-sanitizer is not installed"
fi
echo "gpu.sh: $([ -z "$failed" ] && echo all is well || echo "failed:$failed")" \
    "in $(($(date +%s) - started)) s"
[ -z "$failed" ]
