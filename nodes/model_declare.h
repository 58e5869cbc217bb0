/* Declarations of models: lm(...) and copy(...) as the language has
 * them, and what can be told of a model before it is opened.
 *
 * Reads a config and, if need be, a tokenizer; never weights. */
#ifndef RLF_NODES_MODEL_DECLARE_H
#define RLF_NODES_MODEL_DECLARE_H

#include "engine/graph/class.h"
#include "nodes/model/config.h"
#include "nodes/model/table.h"

struct rlf_tokenizer;

#define RLF_MODEL_CONSTRUCTORS 7
extern const rlf_constructor rlf_model_constructors[RLF_MODEL_CONSTRUCTORS];

/* The arguments of adamw(...), which class update reads at each update. */
#define RLF_ADAMW_FORMALS 6
extern const rlf_formal rlf_adamw_formals[RLF_ADAMW_FORMALS];

/* An argument of the declaration; NULL if it is not given. */
const rlf_arg *rlf_declared(const rlf_resource *resource, const char *name);
/* The source of the model: a directory, a constructor or a model. */
const rlf_arg *rlf_declared_source(const rlf_resource *resource);
rlf_model_head rlf_declared_head(const rlf_resource *resource,
                                 rlf_model_head fallback);
/* Is it saved in f32? Copies of a model are if that is. */
bool rlf_declared_save_f32(const rlf_graph *graph,
                           const rlf_resource *resource);
/* Returns the directory of the adapter that lm(...) begins with, or NULL. */
const char *rlf_declared_adapter(const rlf_resource *resource);
/* Is it the base of another model, base(...)? */
bool rlf_declared_base(const rlf_resource *resource);
/* Has it adapters, or the model that it is a copy of? */
bool rlf_declared_adapted(const rlf_graph *graph, const rlf_resource *resource);
/* The part that updates of the model drop of what adapters read; 0: none, or
 * the files that say it cannot be read. */
double rlf_declared_dropout(const rlf_graph *graph,
                            const rlf_resource *resource);
/* Returns the argument of lm(...) that names the directory of its tokenizer. */
const rlf_arg *rlf_declared_tokenizer(const rlf_resource *resource);
/* Finds the directory of the tokenizer of lm(...). RLF_USER: there is none. */
rlf_status rlf_declared_texts(const rlf_resource *resource, rlf_err *err,
                              const char **out);
/* Finds the config of lm(...); what is made anew takes ids of special tokens
 * and the vocabulary from the tokenizer. `planned`: files with the weights need
 * not be there to be looked into. */
rlf_status rlf_declared_config(const rlf_resource *resource,
                               const struct rlf_tokenizer *tokenizer,
                               bool planned,
                               rlf_arena *arena, rlf_err *err,
                               rlf_model_config *out);
/* The tensors of a model that is not open, in `arena`. */
rlf_status rlf_declared_shapes(const rlf_graph *graph,
                               const rlf_resource *resource, rlf_arena *arena,
                               rlf_err *err, rlf_shapes *out);
/* Can it be cut so? As the resource class's `fits`. */
rlf_status rlf_declared_fits(const rlf_graph *graph,
                             const rlf_resource *resource,
                             const rlf_layout *const *layouts, int n,
                             int shards, rlf_err *err, int *wrong);

/* Have they other tokenizers? As the resource class's `differ`. */
bool rlf_declared_differ(const rlf_graph *graph, const rlf_resource *a,
                         const rlf_resource *b);

/* An error if the head that a call on a model needs, the scalar or the language
 * one, is not what the model's declaration asks for. For a class's infer. */
void rlf_model_check_head(const rlf_graph *graph, const rlf_node *node,
                          bool scalar, rlf_diags *diags);
/* A hint to the error of a template that is not there, if the library (its
 * directory, or NULL) has one of its name. */
void rlf_declared_hint_template(const char *stdlib, const char *path,
                                rlf_err *err);
/* Positions that a model was made for, and words of its vocabulary; 0 where
 * that cannot be read. */
int rlf_declared_context(const rlf_graph *graph, const rlf_resource *resource);
int rlf_declared_vocab(const rlf_graph *graph, const rlf_resource *resource);

/* An error if a call that gives a value per token of its set, input 0, is on a
 * model with another tokenizer than that of the model whose tokens they are.
 * Looks into the tokenizers' files. For a class's infer. */
void rlf_model_check_tokens(const rlf_graph *graph, const rlf_node *node,
                            rlf_diags *diags);

#endif
