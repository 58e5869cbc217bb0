/* Values of a step as bytes, and back: what a checkpoint keeps of the steps
 * that are made ahead.
 *
 * A file is written by a rank that has all of every value and read by each rank
 * of the run that goes on, both in pieces: values may have texts that take most
 * of the memory there is. Numbers are in the machine's own form (little
 * endian). Spaces that several values stand on are written once, so that they
 * are one again. What outlives a step is named, not written: all rows of a data
 * set, tokenizers. Private to this folder. */
#ifndef RLF_SCHED_KEEP_H
#define RLF_SCHED_KEEP_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"

/* A space with its number; the numbers of those above it are smaller. */
typedef struct rlf_known_space {
    rlf_space *space;
    uint32_t up[RLF_DOMAIN_UPS];
    int n_up;
} rlf_known_space;

typedef struct rlf_keeper {
    const rlf_graph *graph;
    void *const *resource;  /* as the rank opened them */
    rlf_arena *arena;       /* of what is read */
    rlf_writer *to;         /* writing: NULL while bytes are only counted */
    const rlf_infile *from; /* reading: `at` on, and not beyond `end` */
    uint64_t at, end;       /* in the file; writing: bytes counted so far */
    bool torn;              /* what was read is not what was written */
    rlf_err *err;           /* of what failed; torn as well */
    rlf_status status;
    struct {
        char *p; /* NULL: none yet */
        uint64_t at;
        size_t n;
    } piece; /* of the file, on its way */
    RLF_VEC(rlf_known_space) known;
} rlf_keeper;

/* What failed, if anything did: memory, or the file. */
rlf_status rlf_keeper_check(const rlf_keeper *k);

/* Values are kept twice: counted, so that the spaces that they stand on are
 * known, then written behind these. */
void rlf_keep_bytes(rlf_keeper *k, const void *p, size_t n);
void rlf_keep_text(rlf_keeper *k, rlf_str text);
void rlf_keep_spaces(rlf_keeper *k); /* of the values that were counted */
void rlf_keep_content(rlf_keeper *k, const rlf_value *value,
                      const rlf_content *content);
/* The last bytes go to the file, which the caller commits. */
rlf_status rlf_keep_end(rlf_keeper *k);
void rlf_keeper_free(rlf_keeper *k); /* what it holds itself */

/* Once `torn` is set, what is read is 0 and nothing is used further. */
void rlf_kept_bytes(rlf_keeper *k, void *to, size_t n);
/* n bytes for what is read; NULL, and torn: there is no memory. */
void *rlf_kept_room(rlf_keeper *k, size_t n);
rlf_str rlf_kept_text(rlf_keeper *k); /* followed by a 0 byte */
void rlf_kept_spaces(rlf_keeper *k);
rlf_content rlf_kept_content(rlf_keeper *k, const rlf_value *value);

#define RLF_KEEP(k, x) rlf_keep_bytes(k, &(x), sizeof(x))
#define RLF_KEPT(k, x) rlf_kept_bytes(k, &(x), sizeof(x))

#endif
