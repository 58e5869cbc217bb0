/* Data sets: rows of labelled columns from jsonl, JSON, csv, parquet or
 * Arrow files.
 *
 * They are the rows of one file or, as if they stood in one, of several
 * (shards.h) of one kind, where each may be compressed in its own way. A file,
 * plain or compressed (stream.h), is one of
 *  - parquet (parquet.h), if the spec says so: rows are the objects of JSON
 * that they become; or of Arrow (arrow.h), which their beginning tells;
 *  - csv, if the spec says so: fields by RFC 4180, with tabs between if the
 * name ends in .tsv (before .gz or .zst), the first record names them;
 *  - a JSON list of objects, if its first byte that is not a space is '[';
 *  - else jsonl: one object a line, empty lines passed over.
 * A column takes one field of each row. A field is a name, or a dotted path
 * ("reward_model.ground_truth", "turns.0"); a name that has dots itself is
 * found first. Places in lists begin at 0, and at -1 from their end; "0:-1" is
 * the list without its last. The first row taken decides the kind of a column:
 *  - number: a JSON number;
 *  - bool: true or false;
 *  - text: a JSON text;
 *  - chat: a list of {"role": text, "content": text}, whose messages may have
 *    more: calls of tools, parts, null instead of a text; or of {"from":
 *    "human", "value": text}, as ShareGPT has it.
 * A column of a csv file is of numbers if each of its cells that are taken is
 * an unquoted number which would be printed as it is written, so that nothing
 * is lost (not 007, 1.50, 1e3, -0, twenty digits), else of texts.
 * In a later row another kind, a missing field or null is RLF_USER with file
 * and line, or the row is left out (drop). So is a row that has a key twice or
 * a number that is too large, in whatever field, or that is no object. Numbers
 * stay in memory, column by column, in the caller's arena; texts and chats are
 * read row by row where they are wanted, of large files from these. A row that
 * is then another one than it was is RLF_ENV.
 */
#ifndef RLF_IO_RECORDS_H
#define RLF_IO_RECORDS_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <stddef.h>
#include <stdint.h>

struct json_t;

typedef enum rlf_record_kind {
    RLF_RECORD_NUMBER,
    RLF_RECORD_TEXT,
    RLF_RECORD_CHAT,
    RLF_RECORD_BOOL
} rlf_record_kind;
/* "a number", "a text"...: for messages. */
const char *rlf_record_kind_word(rlf_record_kind kind);

typedef struct rlf_message {
    rlf_str role, content; /* each followed by a 0 byte; a content that is no
                              text (null, parts, none) is empty here */
    rlf_str json; /* all of a message that is more than two texts; n 0: it is
                     not */
} rlf_message;

typedef struct rlf_chat {
    const rlf_message *messages;
    size_t count;
} rlf_chat;

/* The part of a field's value that a column holds. Each but the first is there
 * once at most, and with those that stand in a row with it. */
typedef enum rlf_record_part_kind {
    RLF_RECORD_WHOLE,
    RLF_RECORD_HEAD,     /* a chat that the assistant ends, without its end */
    RLF_RECORD_ANSWER,   /* the text of this end */
    RLF_RECORD_COMMON,   /* the common beginning of two texts or chats: whole
                            words, or up to `until`; whole messages */
    RLF_RECORD_CHOSEN,   /* the rest of the one; of a chat, the text of it */
    RLF_RECORD_REJECTED, /* what is left of the rejected one */
    RLF_RECORD_TOOLS, /* a list of tools, or a text of JSON that is one, as such
                         a text; null or no field: none, an empty text */
    RLF_RECORD_PARTS
} rlf_record_part_kind;

/* A field to read. */
typedef struct rlf_record_field {
    const char *label; /* the column's name in the program */
    const char *field; /* name or dotted path in the file */
    rlf_record_part_kind part; /* COMMON: as CHOSEN has it */
} rlf_record_field;

typedef struct rlf_records_spec {
    const char *path; /* the path by which messages call the data */
    /* Its files, in order; NULL: `path` is the only one. */
    const char *const *paths;
    size_t n_paths;
    const rlf_record_field *columns;
    size_t n_columns;
    /* The text that ends a common beginning of texts, or NULL. */
    const char *until;
    uint64_t skip;   /* rows of the files passed over */
    uint64_t first;  /* rows that are looked at after these, of which `drop`
                        leaves some out; 0: all */
    /* Rows that are enough of these where the first tell a column's kind, and
     * the caller looks at no more; 0: all. */
    uint64_t enough;
    size_t most;     /* bytes of memory that rows may take; 0: 4 GiB */
    size_t in_memory; /* bytes of texts that are kept in memory; if the files
                         may have more they are read again row by row,
                         compressed files and parquet from a spool; 0: 64 MiB */
    struct rlf_spools
        *spools;       /* spools for these; NULL: they have one of their own */
    const char *name;  /* the name of the spool among them */
    bool csv, parquet; /* whatever its name ends in */
    /* Called with each row that is an object, also one that is left out; of csv
     * once, with the first line's fields; NULL: nobody looks. */
    void (*see)(void *arg, const struct json_t *row);
    void *see_arg;
    bool drop;       /* leave out rows whose fields cannot be columns */
} rlf_records_spec;

typedef struct rlf_record_column {
    const char *label, *field;
    rlf_record_kind kind;
    rlf_record_kind written; /* the kind of its rows: TEXT, CHAT, or none */
    const double *numbers;   /* the number of each row, of a bool 1 or 0; NULL:
                                the column has texts or chats */
    size_t answered; /* chats: the first row that the assistant ends, SIZE_MAX:
                        none */
    const char *odd; /* csv, of texts most of which are numbers: the first that
                        is none, with its place; NULL: no such column */
} rlf_record_column;

/* The value of a row in a column of texts or of chats: they are valid UTF-8 and
 * followed by a 0 byte. */
typedef struct rlf_record_value {
    rlf_str text;
    rlf_chat chat;
} rlf_record_value;

typedef struct rlf_record_file {
    const char *path;
    bool list; /* rows have no lines, but places: a JSON list, parquet */
} rlf_record_file;

typedef struct rlf_records {
    const char *path;
    const rlf_record_file *files;
    size_t n_files;
    rlf_record_column *columns; /* columns, as in the spec */
    size_t n_columns;
    size_t count;
    bool csv; /* cells of a CSV file told the kinds of columns */
    const struct rlf_record_store *store; /* the store that has the rows */
    /* Rows of the store that these are; NULL: all, in its order. */
    const uint32_t *at;
    rlf_digest digest;     /* the digest of labels, kinds and values */
    const char *wrong;     /* after an error: the label of the column that it
                              is of; NULL: of the file */
    bool pairs;            /* some are of two conversations */
    uint64_t dropped;      /* rows left out */
    const char *why;       /* the first of them; NULL: none */
} rlf_records;

/* RLF_USER for what is wrong with the file, also if no row is left. */
rlf_status rlf_records_read(const rlf_records_spec *spec, rlf_arena *arena,
                            rlf_err *err, rlf_records *out);
/* The column of that label, or NULL. */
const rlf_record_column *rlf_records_column(const rlf_records *rows,
                                            const char *label);
/* Reads what row i has in each column; of numbers nothing. In `pool`, or
 * borrowed from the records: it is good as long as both are. */
rlf_status rlf_records_row(const rlf_records *rows, size_t i, rlf_arena *pool,
                           rlf_err *err, const rlf_record_value **out);
/* The line in its file where row i begins; in a list, its 1-based place. Only
 * tests call it: messages of records.c say the line themselves. */
uint32_t rlf_records_line(const rlf_records *rows, size_t i);
/* Bytes that the rows take beside the arena that they were read into: of memory
 * their texts, and where each is; of the files that they are read from; of a
 * spool, in `directory`. */
typedef struct rlf_records_sizes {
    uint64_t memory, index, files, spool;
    const char *directory;
} rlf_records_sizes;
rlf_records_sizes rlf_records_size(const rlf_records *rows);
/* "data.jsonl:17" or "data.json row 17": where row i stands, for messages. */
const char *rlf_records_place(const rlf_records *rows, size_t i,
                              rlf_arena *arena);

#endif
