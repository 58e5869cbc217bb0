#!/bin/sh
# The kernels on another machine: cross-built for aarch64 and run under
# emulation, they must give the bits that tests/unit/kernels_bits.h keeps. What
# needs foreign libraries is left out. Not part of `make check`: takes minutes.
#
#     sh tests/aarch64.sh
#
# CC64 and RUN64 name another compiler and emulator.
RLFLOW_SOURCE=${RLFLOW_SOURCE:-$(dirname "$0")/..}
. "$RLFLOW_SOURCE/tests/tap.sh"
cd "$RLFLOW_SOURCE" || bail "no source directory"
cc=${CC64:-aarch64-linux-gnu-gcc}
run=${RUN64:-qemu-aarch64}
for tool in "$cc" "$run"; do
    command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done

flags="-std=gnu11 -ffp-contract=off -O2 -static -pthread -I. -Wall -Wextra
    -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror"
export RLFLOW_TEST_QUICK=1

objects=
for source in engine/base/*.c engine/dev/*.c engine/expr/*.c kernels/*.c \
    kernels/cpu/*.c; do
    object=$tmp/$(echo "$source" | tr / _).o
    # shellcheck disable=SC2086
    "$cc" $flags -DRLF_ISA=portable -c -o "$object" "$source" ||
        bail "$source does not compile"
    objects="$objects $object"
done

# A multiply-add is one instruction, or it is a call of libm
"${cc%gcc}objdump" -d "$tmp/kernels_cpu_product.c.o" >"$tmp/code" 2>/dev/null
grep -q 'fmla.*4s' "$tmp/code"
ok $? "products are made of fused multiply-adds of vectors"
! grep -q 'bl.*<fmaf>' "$tmp/code"
ok $? "and call no function for it"

for name in base_fmath base_philox dev_team kernels_table kernels_product \
    kernels_attention kernels_head kernels_sample kernels_rows kernels_expr \
    kernels_expr_loops kernels_weights; do
    # shellcheck disable=SC2086
    "$cc" $flags -Wno-missing-prototypes -o "$tmp/$name" \
        "tests/unit/$name.c" $objects -lm || bail "$name does not compile"
    "$run" "$tmp/$name" >"$tmp/out" 2>&1
    status=$?
    grep -E '^(not ok|Bail)' "$tmp/out" | note
    [ "$status" -eq 0 ] && ! grep -qE '^(not ok|Bail)' "$tmp/out"
    ok $? "$name: $(grep -c '^ok' "$tmp/out") checks"
done
finish
