#!/bin/sh
# Not in make check: everything that a GPU can show, in one go.
#
#     tests/gpu.sh [--arch ARCHS] [--only PARTS] [BUILD]
#     tests/gpu.sh --pack DIR [--arch ARCHS] [BUILD]
#     tests/gpu.sh --built DIR [--only PARTS]
#
# Builds in BUILD (default: build-gpu), for ARCHS ("sm_90" is quickest; default:
# all that configure takes), and tests on the GPU. PARTS, with commas between:
# `units` (operations, devices), `models`, `runs` (whole runs in f32, which have
# the CPU's bits), `bits` (in bf16, those that learn something, or have bits that
# hold there too), `memcheck`, `racecheck`, `synccheck` (compute-sanitizer over
# the operations, where it is found or COMPUTE_SANITIZER names it) and
# `sanitizers`, which is these three. Default: all, in this order. NCCL is tested
# where there are two GPUs; ranks that share one hand over by way of the host.
#
# --pack: where there is a GPU there may be no autoreconf, flex, bison or headers
# of libraries. This builds elsewhere, needs no GPU, and writes DIR/kit.tar.xz
# (programs, the libraries that they need beside those of C and C++, tests,
# benchmarks, and the models that tests find in RLFLOW_TEST_DATA) and DIR/gpu.sh.
# Copy DIR, and there: sh DIR/gpu.sh --built DIR. It is unpacked to KIT (default:
# /tmp/rlflow-kit); benchmarks are then `sh KIT/bench/gpu/all KIT/build`.
#
# --emulated, with any of these: the same with the GPU emulated on the host,
# without CUDA and with few whole runs, to see that this script works.
#
# A line a test, at most 6 at once; sanitizers one after the other. OUT names a
# folder that gets the logs of each part as one file. One line at the end says
# how it went. Exit status 0: all went well, 1: a test failed, 2: it cannot be
# built or unpacked, 3: there is no GPU.

say() { printf '[%3d s] %s\n' $(($(date +%s) - started)) "$*"; }
# give_up STATUS TEXT: before anything was tested
give_up() {
    echo "gpu.sh: $2"
    exit "$1"
}
usage() {
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# count PATTERN LOG
count() { grep -c -E "$1" "$2"; }

# --one: `xargs` starts the script anew for each test, in the environment below.
# A test is unit/NAME or NAME.tap.
if [ "${1-}" = --one ]; then
    log=$GPU_LOGS/$(echo "$2" | tr / _).log
    began=$(date +%s)
    case $2 in
    *.tap) set -- "$2" sh "$RLFLOW_SOURCE/tests/$2" ;;
    *) set -- "$2" "$RLFLOW_BUILD/tests/$2" ;;
    esac
    test=$1
    shift
    sh "$RLFLOW_SOURCE/tests/limit" "$@" >"$log" 2>&1
    status=$?
    [ "$(count '^(ok|not ok|1\.\.0|Bail)' "$log")" -gt 0 ] ||
        echo "Bail out! no result" >>"$log"
    printf '%4d ok %3d not ok %3d skipped %4d s  %s%s\n' \
        "$(grep '^ok' "$log" | grep -c -v '# SKIP')" \
        "$(count '^not ok|^Bail' "$log")" "$(count '^(ok|1).*# SKIP' "$log")" \
        $(($(date +%s) - began)) "$test" \
        "$([ $status -eq 0 ] || echo " (exit status $status)")"
    grep -E -A 3 -m 3 '^(not ok|Bail)' "$log" | sed 's/^/    /'
    exit 0
fi

# ---- arguments ----

started=$(date +%s)
device=cuda
archs=
build=
pack=
kit=
only=units,models,runs,bits,sanitizers
while [ $# -gt 0 ]; do
    case $1 in
    --arch | --pack | --built | --only) [ $# -gt 1 ] || usage ;;
    esac
    case $1 in
    --arch) archs=$2 ;;
    --pack) pack=$2 ;;
    --built) kit=$2 ;;
    --only) only=$2 ;;
    --emulated) device=emulated ;;
    -*) usage ;;
    *) build=$1 ;;
    esac
    case $1 in
    --arch | --pack | --built | --only) shift ;;
    esac
    shift
done
only=$(echo "$only" | sed 's/sanitizers/memcheck,racecheck,synccheck/' | tr , ' ')
for part in $only; do
    case $part in
    units | models | runs | bits | memcheck | racecheck | synccheck) ;;
    *) give_up 2 "there is no part '$part' (see the script's first lines)" ;;
    esac
done
here=$(cd "$(dirname "$0")/.." && pwd) || exit 2

# The programs that compute-sanitizer is run over come first: each knows a
# part of the operations.
kernels="unit/kernels_rows unit/kernels_dense unit/kernels_product
    unit/kernels_attention unit/kernels_head unit/kernels_sample
    unit/kernels_attention_mma unit/kernels_mma"
units="$kernels unit/kernels_replay unit/comm_device"
models="unit/model_parity unit/model_sampler unit/model_training
    unit/model_shards unit/model_memory unit/model_stories"
runs="gpu_runs gpu_ranks language bits offload migrate words stages zero ahead
    weights collect data resume pipe layouts mpi"
runs_bf16="learn stages ahead migrate collect data resume"
if [ "$device" = emulated ]; then # each takes a minute or more
    runs="gpu_runs gpu_ranks language stages zero weights"
    runs_bf16="stages"
fi
data="models/stories260K-hf models/stories260K-hf-bf16
    models/verl-arith-tiny-llama-hf datasets/verl_arithmetic_sequence"

# ---- build ----

missing=
need() { # COMMAND ...: one of them
    for command; do
        command -v "$command" >/dev/null 2>&1 && return
    done
    missing="$missing $1"
}

# configure_build OPTION ...
configure_build() {
    [ -x "$here/configure" ] || (cd "$here" && autoreconf -fi) >/dev/null 2>&1 ||
        give_up 2 "autoreconf fails"
    mkdir -p "$build" && cd "$build" || exit 2
    build=$PWD
    [ -f Makefile ] && return
    if [ "$device" = emulated ]; then
        set -- --without-cuda "$@"
    else
        set -- --with-cuda ${archs:+"CUDA_ARCHS=$archs"} "$@"
    fi
    "$here/configure" "$@" >configure.log 2>&1 || {
        tail -5 configure.log
        give_up 2 "configure fails ($build/configure.log)"
    }
}

# build_all GOAL ...: beside `all`
build_all() {
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
    [ -z "$missing" ] ||
        give_up 2 "not installed:$missing (see ./bootstrap; --pack builds elsewhere)"
    say "building in $build"
    if [ -n "$pack" ]; then
        configure_build --with-mpi=no --without-onednn CFLAGS="-O2 -g1"
    else
        configure_build
    fi
    # shellcheck disable=SC2086 # a list
    # (`all` is a make of its own: beside other goals both would build a file)
    { make -k -j"$(nproc)" all && make -k -j"$(nproc)" "$@" &&
        { [ -z "$pack" ] || make -k -j"$(nproc)" $benches; }; } >make.log 2>&1 || {
        grep -E -m 10 'error|\*\*\*' make.log
        give_up 2 "it does not build ($build/make.log)"
    }
}

programs="tests/unit/plan_links tests/rlflow_emulated"
for name in $units $models; do programs="$programs tests/$name"; done
benches="bench/gpu/attention bench/gpu/kernels bench/gpu/model bench/gpu/products
    bench/realloc"

# ---- a kit ----

# put PROGRAM: into the kit, with the libraries that it needs
put() {
    mkdir -p "$to/build/$(dirname "$1")"
    cp "$1" "$to/build/$1" && strip "$to/build/$1" 2>/dev/null
    ldd "$1" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' |
        while read -r name at; do
            case $name in
            libc.* | libm.* | libdl.* | librt.* | libpthread.* | libstdc++.* | \
                libgcc_s.*) ;;
            *) cp -L "$at" "$to/build/lib/$name" ;;
            esac
        done
}

make_kit() {
    mkdir -p "$pack" && pack=$(cd "$pack" && pwd) || exit 2
    build=${build:-build-kit}
    # shellcheck disable=SC2086 # a list
    build_all $programs
    say "packing"
    to=$build/kit
    rm -rf "$to" && mkdir -p "$to/build/lib" "$to/tests" "$to/data/models" \
        "$to/data/datasets" || exit 2
    cp -r "$here/stdlib" "$here/examples" "$to/" &&
        cp -r "$here"/tests/*.tap "$here"/tests/*.sh "$here"/tests/*.table \
            "$here/tests/limit" "$here/tests/e2e" "$here/tests/data" "$to/tests/" ||
        exit 2
    mkdir "$to/bench" && cp -r "$here/bench/gpu" "$to/bench/" || exit 2
    for part in $data; do
        [ -d "${RLFLOW_TEST_DATA:-$here/../shared/data}/$part" ] &&
            cp -r "${RLFLOW_TEST_DATA:-$here/../shared/data}/$part" \
                "$to/data/$(dirname "$part")/"
    done
    for program in rlflow $programs $benches; do
        put "$program"
    done
    git -C "$here" describe --always --dirty >"$to/commit" 2>/dev/null
    # what runs from the kit, which is $kit: libcublasLt may be Python's alone
    cat >"$to/environment" <<'END'
LD_LIBRARY_PATH=$kit/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for dir in /usr/local/cuda/lib64 $(python3 -c "import glob, site
for dir in site.getsitepackages(): print(*glob.glob(dir + '/nvidia/*/lib'))" \
    2>/dev/null); do
    [ ! -d "$dir" ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$dir
done
RLFLOW_STDLIB=$kit/stdlib
export LD_LIBRARY_PATH RLFLOW_STDLIB
END
    tar cf - -C "$to" . | xz -q -T2 --lzma2=preset=6,dict=192MiB \
        >"$pack/kit.tar.xz" || give_up 2 "tar or xz fails"
    cp "$here/tests/gpu.sh" "$pack/gpu.sh"
    say "$pack: $(du -h "$pack/kit.tar.xz" | cut -f 1)"
    exit 0
}

# open_kit: what DIR has, unpacked
open_kit() {
    kit=$(cd "$kit" 2>/dev/null && pwd) || give_up 2 "there is no such folder"
    packed=$kit/kit.tar.xz
    if [ -f "$packed" ]; then
        kit=${KIT:-/tmp/rlflow-kit}
        if [ ! -e "$kit/unpacked" ]; then
            mkdir -p "$kit" || exit 2
            # (not every tar finds an xz)
            tar xJf "$packed" -C "$kit" 2>/dev/null || python3 -c \
                "import tarfile; tarfile.open('$packed').extractall('$kit')" ||
                give_up 2 "$packed cannot be unpacked"
            : >"$kit/unpacked"
        fi
    fi
    [ -x "$kit/build/rlflow" ] || give_up 2 "$kit is no kit (see --pack)"
    here=$kit
    build=$kit/build
    RLFLOW_TEST_DATA=${RLFLOW_TEST_DATA:-$kit/data}
    [ ! -f "$kit/environment" ] || . "$kit/environment"
    cd "$build" || exit 2
}

if [ -n "$pack" ]; then
    make_kit
elif [ -n "$kit" ]; then
    open_kit
else
    [ "$device" = cuda ] || emulated=-emulated
    build=${build:-build-gpu${emulated-}}
    # shellcheck disable=SC2086 # a list
    build_all $programs
fi

# ---- the environment of tests ----

RLFLOW_SOURCE=$here RLFLOW_BUILD=$build RLFLOW_STDLIB=$here/stdlib
RLFLOW=$build/rlflow
: "${RLFLOW_TEST_DATA=$here/../shared/data}"
# of a kit there is no Makefile: tests that need these skip
for name in MANDOC MPIEXEC MPIEXEC_OPENMPI MPIEXEC_MPICH OTHER_MPIEXEC; do
    eval "$name=\$(sed -n 's/^$name = //p' Makefile 2>/dev/null)"
done
RLFLOW_TEST_DEVICE=$device RLFLOW_TEST_KILLS=3
RLFLOW_TEST_QUICK=1 # runs are as short as they get
# what hangs is not to take all the time there is
[ "$device" = emulated ] || RLFLOW_TEST_LIMIT=${RLFLOW_TEST_LIMIT:-180}
export RLFLOW RLFLOW_SOURCE RLFLOW_BUILD RLFLOW_STDLIB RLFLOW_TEST_DATA MANDOC \
    MPIEXEC MPIEXEC_OPENMPI MPIEXEC_MPICH OTHER_MPIEXEC RLFLOW_TEST_DEVICE \
    RLFLOW_TEST_KILLS RLFLOW_TEST_QUICK RLFLOW_TEST_LIMIT GPU_LOGS \
    RLFLOW_TEST_DTYPE

[ "$device" = emulated ] && RLFLOW=$build/tests/rlflow_emulated
"$RLFLOW" check "$here/tests/e2e/tiny.rlf" --device $device >device.log 2>&1 ||
    give_up 3 "$(grep -E -m 2 'error|hint' device.log | tr '\n' ' ')"
RLFLOW=$build/rlflow # tests choose the device themselves

# ---- tests ----

jobs=$(nproc)
[ "$jobs" -lt 6 ] || jobs=6
passed=0 failed=0 skipped=0 wrong=
script=$here/tests/gpu.sh

# begin PART: its logs lie in a folder of their own
begin() {
    GPU_LOGS=$build/gpu-logs/$1
    rm -rf "$GPU_LOGS" && mkdir -p "$GPU_LOGS" || exit 2
    say "$1"
}
# finish PART: adds up, and hands out, its logs
finish() {
    for log in "$GPU_LOGS"/*.log; do
        [ -f "$log" ] || continue
        bad=$(count '^not ok|^Bail' "$log")
        skips=$(count '^(ok|1).*# SKIP' "$log")
        passed=$((passed + $(count '^ok' "$log") - skips))
        skipped=$((skipped + skips))
        failed=$((failed + bad))
        [ "$bad" -eq 0 ] || wrong="$wrong $1:$(basename "$log" .log)"
    done
    grep -h -o '# SKIP.*' "$GPU_LOGS"/*.log 2>/dev/null | sort | uniq -c |
        sort -rn | sed 's/^/    /'
    if [ -d "${OUT-}" ]; then
        for log in "$GPU_LOGS"/*.log; do
            printf '==== %s\n' "${log##*/}" && cat "$log"
        done >"$OUT/$1.log"
    fi
}
# try PART DTYPE TEST ...
try() {
    begin "$1"
    part=$1
    RLFLOW_TEST_DTYPE=$2
    shift 2
    printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh "$script" --one {}
    finish "$part"
}

# sanitize TOOL: one after the other, since each takes most of the GPU's memory
sanitize() {
    sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer ||
        ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
    [ "$device" = cuda ] && [ -n "$sanitizer" ] || return
    begin "$1"
    clean="${clean:+$clean, }$1"
    for name in $kernels; do
        log=$GPU_LOGS/$(basename "$name").sanitizer
        began=$(date +%s)
        timeout 75 "$sanitizer" --tool "$1" --error-exitcode 9 \
            "$build/tests/$name" >"$log" 2>&1
        status=$?
        printf 'exit status %3d %4d s  %s%s\n' $status \
            $(($(date +%s) - began)) "$name" \
            "$([ $status -ne 124 ] || echo ' (not to its end)')"
        case $status in
        0 | 124) ;;
        *)
            grep -m 5 -E '=====|^not ok|^Bail' "$log" | sed 's/^/    /'
            wrong="$wrong $1:$(basename "$name")"
            ;;
        esac
        [ ! -d "${OUT-}" ] || { echo "==== $name" && cat "$log"; } >>"$OUT/$1.log"
    done
}

taps() { for name; do echo "$name.tap"; done; }
for part in $only; do
    # shellcheck disable=SC2086 # lists
    case $part in
    units) try units f32 $units ;;
    models) try models f32 $models ;;
    runs) try runs f32 $(taps $runs) ;;
    bits) try bits bf16 $(taps $runs_bf16) ;;
    *) sanitize "$part" ;;
    esac
done

status=0
[ -z "$wrong" ] || status=1
echo "gpu.sh: $([ -z "$wrong" ] && echo all is well || echo "failed:$wrong");" \
    "$passed passed, $failed failed, $skipped skipped on $device;" \
    "sanitizers: ${clean:-none};" \
    "in $(($(date +%s) - started)) s"
exit $status
