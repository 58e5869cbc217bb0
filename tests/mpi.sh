# Shared by tests that start processes, read by them after tap.sh. What launchers want to be told; starting runs and comparing what
# they leave. Options are lists of words, file names have no blanks.
# shellcheck shell=sh
# what the MPI library itself does not give back is not ours
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export ASAN_OPTIONS
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_btl_base_warn_component_unused
# launch ARGUMENT ...: mpiexec under a time limit
launch() { timeout --kill-after=5 300 "$MPIEXEC" "$@" </dev/null; }

program=$RLFLOW_SOURCE/tests/e2e/tiny.rlf
# what a run left
bits() { (cd "$(newest "$tmp/$1")" && find . -type f ! -name manifest.json |
    sort | xargs cksum); }
metrics() { sed 's/,"seconds":.*//' "$tmp/$1/metrics.jsonl"; }
# run NAME PROCESSES OPTION ...; its output is in NAME.log
run() {
    name=$1 n=$2
    shift 2
    launch -n "$n" "$RLFLOW" run "$program" --out "$tmp/$name" "$@" \
        >"$tmp/$name.log" 2>&1
}
# differences NAME AS: prints the parts in which two runs differ, a line each;
# with the log of the first, and of the other if it did not end well.
differences() { # NAME AS
    bits "$1" >"$tmp/a"
    bits "$2" >"$tmp/b"
    [ -s "$tmp/b" ] || note "$2 left no checkpoint"
    diff "$tmp/a" "$tmp/b" >"$tmp/differ" || note <"$tmp/differ"
    metrics "$1" >"$tmp/a"
    metrics "$2" >"$tmp/b"
    diff "$tmp/a" "$tmp/b" >"$tmp/differ" || note <"$tmp/differ"
    cmp "$tmp/$1/samples.jsonl" "$tmp/$2/samples.jsonl" 2>&1 | note
    note <"$tmp/$1.log"
    grep -q '^done: ' "$tmp/$2.log" || note <"$tmp/$2.log"
}
same() { # NAME AS WHAT
    bits "$1" >"$tmp/a"
    bits "$2" >"$tmp/b"
    [ -s "$tmp/b" ] && cmp -s "$tmp/a" "$tmp/b" &&
        [ "$(metrics "$1")" = "$(metrics "$2")" ] &&
        cmp -s "$tmp/$1/samples.jsonl" "$tmp/$2/samples.jsonl"
    ok $? "$3" || differences "$1" "$2"
}
threads() { # NAME OPTION ...
    name=$1
    shift
    "$RLFLOW" run "$program" --out "$tmp/$name" "$@" >"$tmp/$name.log" 2>&1
}
lanes() { # NAME LANES RANKS
    last=$(($3 - 1))
    cat >"$tmp/$1.place" <<END
place {
    actor on 0..$last (lanes: $2)
    critic on 0..$last (lanes: $2)
}
END
}
# processes_of NAME: a line for each process of that run: pid and number
processes_of() {
    # one program looks at all of them: hundreds would take seconds under load
    grep -lzxF -- "$tmp/$1" /proc/[0-9]*/cmdline 2>/dev/null | while read -r p; do
        p=${p%/cmdline}
        tr '\0' '\n' <"$p/cmdline" | {
            read -r first && [ "$first" = "${tap_itself:-$RLFLOW}" ]
        } && echo "${p#/proc/} $(tr '\0' '\n' <"$p/environ" |
            sed -n 's/^OMPI_COMM_WORLD_RANK=//p; s/^PMI_RANK=//p')"
    done 2>/dev/null
}
