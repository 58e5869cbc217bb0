/* Questions of an editor about the text of a program: what a name means, what
 * can stand at a place, what a file declares. They have answers of a program
 * with errors as well, as far as it can be understood.
 *
 *     rlf_look_program -> rlf_look_at, rlf_look_proposals, rlf_look_symbols
 *
 * Offsets are of bytes in the program's own text. Texts live in the arena that
 * the program was compiled in. */
#ifndef RLF_GRAMMAR_LOOK_H
#define RLF_GRAMMAR_LOOK_H

#include "grammar/compile.h"

typedef struct rlf_look rlf_look;

/* Compiles as rlf_compile does, without a graph that could be run, and keeps
 * what names turned out to mean. Of a file that declares nothing but what
 * others import (defs, parameters) no flow is wanted. *out is NULL if the
 * program itself cannot be read. */
rlf_status rlf_look_program(const rlf_compile_options *options,
                            rlf_arena *arena, rlf_sources *sources,
                            rlf_diags *diags, rlf_err *err, rlf_look **out);

/* What a name means. */
typedef struct rlf_look_meaning {
    rlf_span span;       /* of the name */
    const char *code;    /* its declaration, or how it is called; or NULL */
    const char *value;   /* "one per sample of 'roll', at most 256"; or NULL */
    const char *doc;     /* or NULL */
    const char *formals; /* a line for each argument; or NULL */
    rlf_span definition; /* source 0: it is built in, or a path. An import's
                            file: its first byte */
    const char *file;    /* what a path in quotes opens; else NULL */
} rlf_look_meaning;

/* False: there is no name at `offset`, or it means nothing. */
bool rlf_look_at(rlf_look *look, uint32_t offset, rlf_look_meaning *out);

typedef struct rlf_look_spans {
    rlf_span *data;
    size_t count, room;
} rlf_look_spans;

/* The names in the program's own text that mean what is declared at
 * `definition`, with that itself if it is there, in order. */
rlf_look_spans rlf_look_uses(rlf_look *look, rlf_span definition);

/* Something that can stand at a place. */
typedef struct rlf_look_proposal {
    const char *name;
    const char *kind;   /* "keyword", "function", "argument", "field", "method",
                           "value", "model", "data", "hook", "state", "param",
                           "file", "level", "constructor" */
    const char *detail; /* what it is, in a line; or NULL */
    const char *doc;    /* or NULL */
} rlf_look_proposal;

typedef struct rlf_look_proposals {
    rlf_look_proposal *data;
    size_t count, room;
} rlf_look_proposals;

/* What can stand where the word that ends at `offset` begins, at *from. */
rlf_look_proposals rlf_look_propose(rlf_look *look, uint32_t offset,
                                    uint32_t *from);

/* Something that the file declares. */
typedef struct rlf_look_symbol {
    const char *name;
    const char *kind;   /* the word that declares it, or "value" in a flow */
    const char *detail; /* or NULL */
    int depth;          /* 0; 1: it is in the one of depth 0 before it */
    rlf_span span, name_span;
} rlf_look_symbol;

typedef struct rlf_look_symbols {
    rlf_look_symbol *data;
    size_t count, room;
} rlf_look_symbols;

rlf_look_symbols rlf_look_symbols_of(rlf_look *look);

#endif
