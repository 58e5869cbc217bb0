/* The inputs of a run: everything that its results are a function of, each
 * with a name and what it is: a value, or the digest of a file's bytes.
 *
 * One list serves all who ask whether two runs are the same: processes that are
 * about to begin one together, and a resume, which compares the list in the
 * checkpoint with the present one. Files count by their contents, not by their
 * paths. Threads, ranks, placement and limits change no result and are no
 * inputs.
 *
 * The name is what `--accept` takes: that of a declaration ("reward"), of a
 * part of it ("actor.tokenizer"), of a parameter, or one of the run's own:
 * seed, program, device, dtype, version, shards, lanes.
 * engine/api/rundir/inputs.c makes the list; a further input is a line there,
 * and everything else follows.
 */
#ifndef RLF_SCHED_INPUTS_H
#define RLF_SCHED_INPUTS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <jansson.h>

/* Which file it is that has a name, and since when it is as it is. */
typedef struct rlf_input_state {
    uint64_t device, inode, size;
    int64_t modified, changed; /* ns */
} rlf_input_state;

typedef struct rlf_input {
    const char *name;
    const char *part;  /* a file or module of it, a model; "": there is one */
    const char *value; /* of a file the digits of its digest */
    const char *path;  /* of the file; NULL: it is none */
    const char *text;  /* its bytes, of one that is no file though it is called
                          so; else NULL */
    const char *copy;  /* where the run keeps a copy, from its directory on;
                          NULL:  none, for it is no text or a large one */
    uint64_t bytes;    /* of the file */
    rlf_input_state state; /* of the file, after it was read; else zeros */
    bool noted;        /* only written down: does not decide by itself */
    bool rows;         /* data that cannot be read twice: the value is made of
                          what was read, once that is open */
} rlf_input;

/* A file that could not be loaded, so that it is not known what else belongs to
 * the input `name`. */
typedef struct rlf_unloaded {
    const char *name, *path;
    const char *why;           /* a sentence */
    const char *const *absent; /* parts of it that are known not to be there */
    size_t n_absent;
} rlf_unloaded;

typedef struct rlf_inputs {
    struct {
        rlf_input *data;
        size_t count, room;
    } list; /* in the arena of its maker */
    struct {
        rlf_unloaded *data;
        size_t count, room;
    } unloaded; /* in the arena of its maker */
    /* The inputs that --accept named: they may differ from the run before. */
    struct {
        const char **data;
        size_t count, room;
    } accept;
} rlf_inputs;

/* Was the name given to --accept? */
bool rlf_inputs_accepted(const rlf_inputs *inputs, const char *name);
/* A JSON list, one line an input, without a line's end behind it. Where files
 * are is not in it, for another machine has them elsewhere. */
void rlf_inputs_print(const rlf_inputs *inputs, rlf_buf *out);
/* Is it the run that wrote the list `was`, read from `file`? RLF_USER names
 * every input that differs, of a text the first line, and how to go on. Of an
 * input that is `unloaded` only what is known to differ counts: who goes on
 * must have loaded all.
 * `directory` is that of the run, with the copies. What differs and was
 * accepted is added to `accepted`, a list of JSON objects with commas between
 * them: the last step done with the former, the input, and what it was and is.
 */
rlf_status rlf_inputs_check(const rlf_inputs *inputs, const json_t *was,
                            const char *file, const char *directory,
                            uint32_t step, rlf_arena *arena, rlf_err *err,
                            rlf_buf *accepted);

#endif
