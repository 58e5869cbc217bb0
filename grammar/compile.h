/* From a .rlf file to a graph: the whole front end in one call.
 *
 *     text -> AST -> imports -> names -> sets, levels, liveness -> graph
 *
 * Everything made lives in the caller's arena. */
#ifndef RLF_GRAMMAR_COMPILE_H
#define RLF_GRAMMAR_COMPILE_H

#include "engine/graph/class.h"

/* A parameter given on the command line. */
typedef struct rlf_compile_setting {
    const char *name, *value;
} rlf_compile_setting;

/* The options that make a program one of its evaluations (evaluation.c). */
/* A model of a checkpoint that has several. */
typedef struct rlf_evaluated {
    const char *name, *model; /* in the program of the run; its directory */
    bool adapter;
} rlf_evaluated;

typedef struct rlf_evaluate {
    const char *model;  /* directory of the model that is evaluated, or of
                           several; NULL: as the program begins with it */
    const rlf_evaluated *several; /* of them the one with the name of the
                                     program's is taken; NULL: it is one */
    size_t n_several;
    bool adapter;       /* the model is an adapter of the program's model */
    uint32_t samples;   /* answers to each prompt; 0: as the program says */
    double temperature; /* 0: as the program says */
    uint32_t rows;      /* rows of data in a step, > 0 */
    uint64_t limit;     /* rows in all; 0: no limit */
} rlf_evaluate;

/* The text of a file as it would be if it were saved. */
typedef struct rlf_edited {
    const char *path;
    const char *text; /* `size` bytes */
    size_t size;
} rlf_edited;

typedef struct rlf_compile_options {
    /* The path of the program, which messages show as given. */
    const char *path;
    /* The text of that file, `size` bytes; NULL: it is read. */
    const char *text;
    size_t size;
    const char *stdlib; /* directory that "std/..." means */
    const char *start;  /* the directory in which the command was started, to
                           which paths in settings are relative; NULL: "." */
    const rlf_compile_setting *settings;
    size_t n_settings;
    const rlf_classes *classes;
    const rlf_evaluate *evaluate; /* NULL: the program as it is */
    const char *plan; /* file whose `place` stands for the program's; NULL */
    struct rlf_compiled **kept; /* set to what rlf_compile_place needs; NULL:
                                   that is not called */
    /* Files of which an editor has another text than the disk; NULL: none. */
    const struct rlf_edited *edited;
    size_t n_edited;
    struct rlf_look *look; /* notes of what names mean (look.h); NULL: none */
    bool params_only; /* declarations of parameters are enough: settings that
                         must be given may lack, nothing is opened */
} rlf_compile_options;

/* RLF_USER if there are errors (they are in diags, or in err when the file
 * cannot be read); else *out is a graph that has passed rlf_graph_verify. With
 * params_only *out has only its params. */
rlf_status rlf_compile(const rlf_compile_options *options, rlf_arena *arena,
                       rlf_sources *sources, rlf_diags *diags, rlf_err *err,
                       rlf_graph **out);

/* After a compilation without errors, of which this was kept: the rows of a
 * plan (a text, called `path` in messages) stand for those that the graph has.
 * Its strategy stays. RLF_USER as for a plan file. */
rlf_status rlf_compile_place(struct rlf_compiled *compiled, const char *path,
                             const char *text, rlf_err *err);

#endif
