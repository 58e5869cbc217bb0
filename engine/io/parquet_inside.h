/* Declarations that the parts of the parquet reader share. For parquet*.c
 * alone.
 *
 * parquet_schema.c reads the footer: columns as a tree, and where their chunks
 * are. parquet_page.c goes through a chunk, page by page, parquet_decode.c
 * through the levels and values of a page. parquet.c puts rows together
 * (Melnik et al., Dremel, VLDB 2010: repetition and definition levels). */
#ifndef RLF_IO_PARQUET_INSIDE_H
#define RLF_IO_PARQUET_INSIDE_H

#include "engine/base/arena.h"
#include "engine/base/str.h"
#include "engine/io/file.h"
#include "engine/io/parquet.h"

/* Types, as files number them. */
enum rlf_parquet_type {
    RLF_PARQUET_BOOLEAN,
    RLF_PARQUET_INT32,
    RLF_PARQUET_INT64,
    RLF_PARQUET_INT96,
    RLF_PARQUET_FLOAT,
    RLF_PARQUET_DOUBLE,
    RLF_PARQUET_BYTES,
    RLF_PARQUET_FIXED,
    RLF_PARQUET_TYPES
};

/* The meaning of values, beyond their type. */
typedef enum rlf_parquet_means {
    RLF_PARQUET_ITSELF,
    RLF_PARQUET_LIST,
    RLF_PARQUET_MAP,
    RLF_PARQUET_UNSIGNED,
    RLF_PARQUET_DECIMAL,
    RLF_PARQUET_DATE,
    RLF_PARQUET_TIME,
    RLF_PARQUET_TIMESTAMP,
    RLF_PARQUET_HALF,
    RLF_PARQUET_OTHER /* refused */
} rlf_parquet_means;

enum { RLF_PARQUET_REQUIRED, RLF_PARQUET_OPTIONAL, RLF_PARQUET_REPEATED };

typedef struct rlf_parquet_node {
    const char *name;
    const char *path; /* the path with the names of the columns that it is in,
                         for messages */
    int repetition;
    int rep, def; /* levels at which it is there */
    int type;     /* -1: a group */
    int width;    /* bytes, of RLF_PARQUET_FIXED */
    rlf_parquet_means means;
    int scale;   /* digits behind the point, of decimals; digits of a second's
                    parts, of times */
    bool utc;    /* a timestamp is UTC */
    size_t leaf; /* the first that it is, or that is in it */
    size_t n_leaves;
    struct rlf_parquet_node *children;
    size_t n_children;
} rlf_parquet_node;

/* A column of a group of rows, in the file. */
typedef struct rlf_parquet_chunk {
    uint64_t at, bytes, values;
    int codec;
} rlf_parquet_chunk;

typedef struct rlf_parquet_group {
    uint64_t rows;
    rlf_parquet_chunk *chunks; /* chunks by leaf */
} rlf_parquet_group;

typedef struct rlf_parquet_schema {
    rlf_parquet_node root;
    size_t n_leaves;
    const rlf_parquet_node **leaves;
    rlf_parquet_group *groups;
    size_t n_groups;
} rlf_parquet_schema;

/* Reads the schema into `arena`. */
rlf_status rlf_parquet_schema_read(const char *path, const rlf_infile *file,
                                   rlf_arena *arena, rlf_err *err,
                                   rlf_parquet_schema *out);

/* ---- values and levels of a page ---- */

typedef struct rlf_parquet_value {
    int64_t i; /* booleans, integers */
    double d;
    rlf_str text; /* borrowed */
} rlf_parquet_value;

/* Numbers of a few bits each, in runs or packed. */
typedef struct rlf_parquet_runs {
    const uint8_t *p, *end;
    int bits;
    uint64_t left; /* values left of the run at hand */
    bool packed;
    uint32_t value;
    uint64_t bit; /* the bit of p at which the next packed value begins */
} rlf_parquet_runs;

/* `*bad` is set where the bytes end, and zeros follow. */
uint32_t rlf_parquet_runs_next(rlf_parquet_runs *r, bool *bad);

/* The values of a page, one after the other. */
typedef struct rlf_parquet_values {
    int encoding, type, width;
    const uint8_t *p, *end;
    uint64_t at; /* values that were read */
    rlf_parquet_runs index;
    const rlf_parquet_value *dictionary;
    size_t n_dictionary;
    int64_t *numbers, *prefixes; /* values of delta encodings */
    size_t n_numbers;
    rlf_buf last; /* the text before, of delta texts */
    bool bad;
} rlf_parquet_values;

/* Of `most` values at most, in the bytes; the dictionary is set already.
 * RLF_USER for an encoding that this type has not; err has no place yet. What
 * it holds is freed by _end. */
rlf_status rlf_parquet_values_begin(rlf_parquet_values *v, int encoding,
                                    const uint8_t *p, size_t n, uint64_t most,
                                    rlf_err *err);
/* `bad` is set where there is none; zeros follow. */
rlf_parquet_value rlf_parquet_values_next(rlf_parquet_values *v);
void rlf_parquet_values_end(rlf_parquet_values *v);

/* ---- a column, from chunk to chunk ---- */

typedef struct rlf_parquet_cursor {
    const char *path;
    const rlf_infile *file;
    const rlf_parquet_node *node;
    int codec;
    /* Bytes of the file: the next page, the end of the chunk. */
    uint64_t at, end;
    uint64_t left;    /* values, with those that are not there */
    uint64_t in_page;
    rlf_parquet_runs reps, defs;
    rlf_parquet_values values;
    /* A page as read, decompressed, and the dictionary's. */
    rlf_buf raw, page, words;
    rlf_parquet_value *dictionary;
    size_t n_dictionary;
    bool ready; /* rep and def are those of the next value */
    bool over;  /* there is no further value: rep and def are 0 */
    int rep, def;
} rlf_parquet_cursor;

void rlf_parquet_cursor_begin(rlf_parquet_cursor *c,
                              const rlf_parquet_chunk *chunk);
/* Makes it ready. */
rlf_status rlf_parquet_cursor_look(rlf_parquet_cursor *c, rlf_err *err);
/* The value that it is ready for (zeros where there is none), and passes it.
 * Its text lives until the next look. */
rlf_status rlf_parquet_cursor_take(rlf_parquet_cursor *c, rlf_err *err,
                                   rlf_parquet_value *out);
void rlf_parquet_cursor_end(rlf_parquet_cursor *c);

#endif
