#!/bin/sh
# Not in make check: everything that a GPU can show, in one go.
#
#     tests/gpu.sh [--arch ARCHS] [--emulated] [BUILD]
#
# Builds in BUILD (default: build-gpu), for ARCHS ("sm_90" is quickest; default:
# all that configure takes); runs the tables of operations, models, ranks and
# whole runs on the GPU; and compute-sanitizer, where it is found (or named by
# COMPUTE_SANITIZER), over the former. NCCL is tested where there are two GPUs;
# ranks that share one hand over by way of the host.
#
# --emulated: the same with the GPU emulated on the host, without CUDA and with
# few whole runs: some 4 minutes of two cores, to see that this script works.
#
# One line at the end says how it went. Exit status 0: all went well, 1: a test
# failed, 2: it cannot be built, 3: there is no GPU.
here=$(cd "$(dirname "$0")/.." && pwd) || exit 2
device=cuda
archs=
build=
while [ $# -gt 0 ]; do
    case $1 in
    --arch)
        [ $# -gt 1 ] || set -- --arch -h
        archs=$2
        shift
        ;;
    --emulated) device=emulated ;;
    -*)
        sed -n '2,/^here=/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    *) build=$1 ;;
    esac
    shift
done
[ "$device" = cuda ] || emulated=-emulated
build=${build:-build-gpu${emulated-}}

# The programs that compute-sanitizer is run over, all others; whole runs in f32,
# where all layouts have the CPU's bits; and in bf16, as models are trained, those
# that are to learn something, or to have bits that hold there too.
kernels="kernels_rows kernels_dense kernels_product kernels_attention kernels_head kernels_sample
    kernels_attention_mma kernels_mma"
others="comm_device kernels_replay model_parity model_sampler model_training model_shards
    model_memory model_stories"
runs="gpu_runs gpu_ranks language bits offload migrate words stages zero ahead
    weights collect data resume pipe layouts mpi"
runs_bf16="learn stages ahead migrate collect data resume"
if [ "$device" = emulated ]; then # each takes a minute or more
    runs="gpu_runs gpu_ranks language stages zero weights"
    runs_bf16="stages"
fi

jobs=$(nproc)
started=$(date +%s)
passed=0 failed=0 skipped=0 wrong=
say() { printf '[%3d s] %s\n' $(($(date +%s) - started)) "$*"; }
# give_up STATUS TEXT: before anything was tested
give_up() {
    echo "gpu.sh: $2"
    exit "$1"
}

# ---- what it takes ----

missing=
need() { # COMMAND ...: one of them
    for command; do
        command -v "$command" >/dev/null 2>&1 && return
    done
    missing="$missing $1"
}
need make
need cc gcc clang
need g++ clang++
need pkg-config
[ -x "$here/configure" ] || need autoreconf
if [ ! -f "$here/grammar/parser.c" ]; then
    need flex
    need bison
fi
[ "$device" = emulated ] || need nvcc /usr/local/cuda/bin/nvcc
[ -z "$missing" ] || give_up 2 "not installed:$missing (see ./bootstrap)"

# ---- build ----

say "building in $build"
[ -x "$here/configure" ] || (cd "$here" && autoreconf -fi) >/dev/null 2>&1 ||
    give_up 2 "autoreconf fails"
mkdir -p "$build" && cd "$build" || exit 2
build=$PWD
if [ ! -f Makefile ]; then
    if [ "$device" = emulated ]; then
        set -- --without-cuda
    else
        set -- --with-cuda ${archs:+"CUDA_ARCHS=$archs"}
    fi
    "$here/configure" "$@" >configure.log 2>&1 || {
        tail -5 configure.log
        give_up 2 "configure fails ($build/configure.log)"
    }
fi
programs=
for name in $kernels $others; do programs="$programs tests/unit/$name"; done
# shellcheck disable=SC2086 # a list
{
    # (`all` is a make of its own: beside other goals both would build a file)
    make -k -j"$jobs" all && make -k -j"$jobs" $programs \
        tests/unit/plan_links tests/rlflow_emulated
} >make.log 2>&1 || {
    grep -E -m 10 'error|\*\*\*' make.log
    give_up 2 "it does not build ($build/make.log)"
}
program=$build/rlflow
[ "$device" = emulated ] && program=$build/tests/rlflow_emulated
export RLFLOW_STDLIB="$here/stdlib" RLFLOW_SOURCE="$here"
"$program" check "$here/tests/e2e/tiny.rlf" --device $device >device.log 2>&1 ||
    give_up 3 "$(grep -E -m 2 'error|hint' device.log | tr '\n' ' ')"

# ---- tests ----

export RLFLOW_TEST_DEVICE=$device RLFLOW_TEST_KILLS=3
export RLFLOW_TEST_QUICK=1 # runs are as short as they get
# what hangs is not to take all the time there is
[ "$device" = emulated ] || export RLFLOW_TEST_LIMIT=180

# try DTYPE TEST ...: all at once; what they say is added up
try() {
    export RLFLOW_TEST_DTYPE="$1"
    shift
    for test; do rm -f "${test%.tap}.trs"; done
    # (without check_PROGRAMS= it builds all the other ones first)
    make -k -j"$jobs" check-TESTS TESTS="$*" check_PROGRAMS= >check.log 2>&1
    for test; do
        test=${test%.tap}
        [ -f "$test.trs" ] || {
            wrong="$wrong $test"
            continue
        }
        passed=$((passed + $(grep -c '^:test-result: PASS' "$test.trs")))
        skipped=$((skipped + $(grep -c '^:test-result: SKIP' "$test.trs")))
        bad=$(grep -c -E '^:test-result: (FAIL|ERROR|XPASS)' "$test.trs")
        failed=$((failed + bad))
        if [ "$bad" -gt 0 ]; then
            wrong="$wrong $test:$RLFLOW_TEST_DTYPE"
            cp "$test.log" "$test.$RLFLOW_TEST_DTYPE.log"
            grep -E -A 4 -m 5 '^(not ok|Bail)' "$test.log"
        fi
        grep -h -o -E '^(ok|1).*# SKIP.*' "$test.log" | sed 's/.*# //'
    done >tried
    grep -v '^SKIP' tried
    grep '^SKIP' tried | sort | uniq -c | sort -rn
}
all=$programs
for name in $runs; do all="$all tests/$name.tap"; done
# shellcheck disable=SC2086 # lists
{
    say "tests on $device"
    try f32 $all
    say "runs in bf16"
    try bf16 $(for name in $runs_bf16; do echo "tests/$name.tap"; done)
}

# ---- compute-sanitizer ----

sanitizer=
[ "$device" = emulated ] ||
    sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer ||
        ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
tools="memcheck racecheck synccheck"
clean="without compute-sanitizer"
if [ -n "$sanitizer" ]; then
    say "compute-sanitizer"
    clean="$tools clean"
    for tool in $tools; do
        for name in $kernels; do
            {
                timeout 75 "$sanitizer" --tool "$tool" --error-exitcode 9 \
                    "tests/unit/$name" >"$tool.$name.log" 2>&1
                echo "exit status $?" >>"$tool.$name.log"
            } &
        done
    done
    wait
    late=0
    for tool in $tools; do
        for name in $kernels; do
            case $(tail -1 "$tool.$name.log") in
            'exit status 0') ;;
            'exit status 124') late=$((late + 1)) ;;
            *)
                grep -m 5 -E '=====|^not ok|^Bail' "$tool.$name.log"
                wrong="$wrong $tool:$name"
                clean="compute-sanitizer found something"
                ;;
            esac
        done
    done
    [ $late -eq 0 ] || clean="$clean ($late not to their end)"
fi

status=0
[ -z "$wrong" ] || status=1
echo "gpu.sh: $([ -z "$wrong" ] && echo all is well || echo "failed:$wrong");" \
    "$passed passed, $failed failed, $skipped skipped on $device; $clean;" \
    "in $(($(date +%s) - started)) s"
exit $status
