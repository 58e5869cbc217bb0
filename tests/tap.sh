# Test Anything Protocol for shell tests: . "$RLFLOW_SOURCE/tests/tap.sh"
# Each check prints one line; `finish` prints the plan and ends the test.
# Sets and removes a directory of its own: $tmp.
#
# RLFLOW_TEST_DEVICE has $RLFLOW compute elsewhere: "emulated" or "cuda", in
# RLFLOW_TEST_DTYPE, which is f32 if unset: the bits of the CPU. $RLFLOW is then
# a script; processes of runs are of $tap_itself.
tap_run=0
tap_failed=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rlflow-test.XXXXXX") || exit 1
tap_own=
tap_itself=
# No call of a Lua function is given up because the machine is busy: where that
# is looked at, the command line says --grace.
RLFLOW_GRACE=3600
export RLFLOW_GRACE
trap 'rm -rf "$tmp" ${tap_own:+"$tap_own"}' EXIT
if [ -n "${RLFLOW_TEST_DEVICE-}" ]; then
    [ "$RLFLOW_TEST_DEVICE" = emulated ] &&
        RLFLOW=$RLFLOW_BUILD/tests/rlflow_emulated
    tap_itself=$RLFLOW
    tap_own=$(mktemp -d "${TMPDIR:-/tmp}/rlflow-test.XXXXXX") || exit 1
    cat >"$tap_own/rlflow" <<EOF
#!/bin/sh
case \$1 in
run | check | plan)
    set -- "\$@" --device $RLFLOW_TEST_DEVICE --dtype ${RLFLOW_TEST_DTYPE:-f32}
    ;;
esac
exec "$RLFLOW" "\$@"
EOF
    chmod +x "$tap_own/rlflow"
    RLFLOW=$tap_own/rlflow
fi

# ok STATUS NAME: the check NAME held if STATUS is 0.
ok() {
    tap_run=$((tap_run + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_run - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_run - $2"
    fi
    return "$1"
}
# is GOT WANT NAME: two texts are equal.
is() {
    if [ "$1" = "$2" ]; then
        ok 0 "$3"
    else
        ok 1 "$3"
        printf '%s\n' "got:" "$1" "want:" "$2" | sed 's/^/# /'
        return 1
    fi
}
# note TEXT: a remark; from standard input without TEXT.
note() {
    if [ $# -gt 0 ]; then printf '# %s\n' "$*"; else sed 's/^/# /'; fi
}
# skip REASON: one check that cannot be made here.
skip() {
    tap_run=$((tap_run + 1))
    echo "ok $tap_run # SKIP $1"
}
# skip_all REASON: nothing of this test can run here.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
bail() {
    echo "Bail out! $1"
    exit 1
}
# needs FILE ...: ends the test unless these files of the build tree, which it
# runs, are built.
needs() {
    for tap_file in "$@"; do
        [ -e "$RLFLOW_BUILD/$tap_file" ] ||
            bail "$tap_file is not built: make $tap_file first"
    done
}
# newest RUN: the directory of its last checkpoint; where it has none, one that
# is not there, for `cd` to nothing would stay where it is.
newest() {
    tap_newest=$(find "$1/checkpoints" -mindepth 1 -maxdepth 1 -name 'step-*' |
        sort | command tail -n 1)
    printf '%s\n' "${tap_newest:-$1/checkpoints/none}"
}
# begin LOG COMMAND ...: in the background, as $pid. LOG is empty from then on:
# the shell of a background command may empty it later, and who waits for a line
# in it would find an old one.
begin() {
    tap_log=$1
    shift
    : >"$tap_log"
    "$@" >"$tap_log" 2>&1 &
    pid=$!
}
# await PATTERN FILE: until a line of it matches, for ten minutes at most.
await() {
    tap_tries=0
    until grep -q -e "$1" "$2" 2>/dev/null || [ $tap_tries -ge 6000 ]; do
        sleep 0.1
        tap_tries=$((tap_tries + 1))
    done
}
# lives PID: has it not ended yet? A child that has ended and that nobody has
# waited for has not gone, but is a zombie.
lives() {
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
    '' | [ZX]*) return 1 ;;
    esac
}
# worked PID HUNDREDTHS: until it has taken so much processor time, in hundredths
# of a second, or has ended: what it does by then it does by then on a machine
# that is slow or busy, too.
worked() {
    while lives "$1" && [ "$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' \
        "/proc/$1/stat" 2>/dev/null || echo "$2")" -lt "$2" ]; do
        sleep 0.05
    done
}
# impatient PATTERN OUT LOG COMMAND ...: a run of several ranks, in the directory
# OUT, that ends by --patience, with a line in LOG that matches; sets $status. On
# a busy machine ranks make no progress for a while elsewhere too: then the run is
# made once more, with more patience.
impatient() {
    tap_pattern=$1 tap_out=$2 tap_log=$3
    shift 3
    for tap_seconds in 1 4 16 64; do
        rm -rf "$tap_out"
        "$@" --out "$tap_out" --patience "$tap_seconds" >"$tap_log" 2>&1
        status=$?
        ! grep -q -e "for $tap_seconds s $tap_pattern" "$tap_log" || return 0
    done
    return 1
}
# python_with MODULE ...: sets $python to one that has these modules: that of
# RLFLOW_TEST_PYTHON, or python3.
python_with() {
    tap_modules=$(echo "$*" | tr ' ' ,)
    for python in ${RLFLOW_TEST_PYTHON:+"$RLFLOW_TEST_PYTHON"} python3; do
        "$python" -c "import $tap_modules" 2>/dev/null && return 0
    done
    python=
    return 1
}
finish() {
    echo "1..$tap_run"
    [ "$tap_failed" -eq 0 ]
    exit
}
