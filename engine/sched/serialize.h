/* Values of a step as bytes, and back: what a checkpoint keeps of the steps
 * that are made ahead.
 *
 * A file is written by a rank that has all of every value and read by each rank
 * of the run that goes on, both in pieces: values may have texts that take most
 * of the memory there is. Numbers are in the machine's own form (little
 * endian). Spaces that several values stand on are written once, so that they
 * are one again. What outlives a step is named, not written: all rows of a data
 * set, tokenizers. Private to this folder. */
#ifndef RLF_SCHED_SERIALIZE_H
#define RLF_SCHED_SERIALIZE_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"

/* A space with its number; the numbers of those above it are smaller. */
typedef struct rlf_known_space {
    rlf_space *space;
    uint32_t up[RLF_DOMAIN_UPS];
    int n_up;
} rlf_known_space;

typedef struct rlf_serializer {
    const rlf_graph *graph;
    void *const *resource;  /* resources, as the rank opened them */
    rlf_arena *arena;       /* the arena of what is read */
    rlf_writer *to;         /* writing: NULL while bytes are only counted */
    const rlf_infile *from; /* reading: `at` on, and not beyond `end` */
    uint64_t at, end; /* offset in the file, and its end; writing: bytes counted
                         so far */
    bool torn;    /* the bytes that were read are not those that were written */
    rlf_err *err; /* the error of what failed; torn as well */
    rlf_status status;
    struct {
        char *p; /* NULL: none yet */
        uint64_t at;
        size_t n;
    } piece; /* the piece of the file that is on its way */
    RLF_VEC(rlf_known_space) known;
} rlf_serializer;

/* The first failure, if there was one: of memory, or of the file. */
rlf_status rlf_serializer_check(const rlf_serializer *k);

/* Values are kept twice: counted, so that the spaces that they stand on are
 * known, then written behind these. */
void rlf_serialize_bytes(rlf_serializer *k, const void *p, size_t n);
void rlf_serialize_text(rlf_serializer *k, rlf_str text);
void
rlf_serialize_spaces(rlf_serializer *k); /* of the values that were counted */
void rlf_serialize_content(rlf_serializer *k, const rlf_value *value,
                           const rlf_content *content);
/* The last bytes go to the file, which the caller commits. */
rlf_status rlf_serialize_end(rlf_serializer *k);
void rlf_serializer_free(rlf_serializer *k); /* what it holds itself */

/* Once `torn` is set, what is read is 0 and nothing is used further. */
void rlf_deserialize_bytes(rlf_serializer *k, void *to, size_t n);
/* n bytes for what is read; NULL, and torn: there is no memory. */
void *rlf_deserialize_room(rlf_serializer *k, size_t n);
rlf_str rlf_deserialize_text(rlf_serializer *k); /* followed by a 0 byte */
void rlf_deserialize_spaces(rlf_serializer *k);
rlf_content rlf_deserialize_content(rlf_serializer *k, const rlf_value *value);

#define RLF_SERIALIZE(k, x) rlf_serialize_bytes(k, &(x), sizeof(x))
#define RLF_DESERIALIZE(k, x) rlf_deserialize_bytes(k, &(x), sizeof(x))

#endif
