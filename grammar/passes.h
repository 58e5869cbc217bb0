/* The functions that files of the checker call of each other, by file; the
 * types that they share are in sema.h. Private to grammar. */
#ifndef RLF_GRAMMAR_PASSES_H
#define RLF_GRAMMAR_PASSES_H

#include "grammar/sema.h"

/* ---- compile.c ---- */

/* A checker that has read nothing yet. */
void rlf_sema_start(rlf_sema *s, const rlf_compile_options *options,
                    rlf_arena *arena, rlf_sources *sources, rlf_diags *diags);
/* Refuse this, once all else is right. */
void rlf_sema_refuse(rlf_sema *s, rlf_span span, const char *text, bool lowers);

/* ---- evaluation.c ---- */

/* Make the program that of its evaluations, before anything is resolved. */
void rlf_sema_evaluation(rlf_sema *s);
/* Is the declaration needed? Of a program all are. */
bool rlf_sema_needs(const rlf_sema *s, const rlf_ast_decl *decl);
/* Keeps, in an evaluation, what the metric is the mean of, as an input of the
 * item that reports it. */
void rlf_sema_score(rlf_sema *s, rlf_item *item, const rlf_ast_bind *bind,
                    int term);
/* Finds the values of these, after lowering. */
void rlf_sema_scores(rlf_sema *s);

/* ---- look.c ---- */

/* Notes for an editor: a walk begins, which forgets another; the value that an
 * expression has; what a name was given; the walk has seen the flow. */
void rlf_look_begin(struct rlf_look *look, rlf_sema *s);
void rlf_look_note_value(struct rlf_look *look, const rlf_ast_expr *e,
                         const rlf_entity *entity);
void rlf_look_note_name(struct rlf_look *look, rlf_span span,
                        const rlf_entity *entity);
/* A path that was written at `span`, as it is opened. */
void rlf_look_note_path(struct rlf_look *look, rlf_span span,
                        const char *path);
void rlf_look_walked(struct rlf_look *look);
/* Declares it nothing but what others import, or nothing? */
bool rlf_look_is_library(const rlf_module *module);

/* ---- import.c ---- */

/* Read the program and all it imports. RLF_USER with err filled if the program
 * itself cannot be read; other trouble goes to the diagnostics. */
rlf_status rlf_sema_load(rlf_sema *s, rlf_err *err);
/* `text` written in file `module` as a path to open. */
const char *rlf_sema_path(rlf_sema *s, const rlf_module *module,
                          const char *text);

/* ---- name.c ---- */

/* The meaning of a name, in the order of hiding. Found: true. */
typedef struct rlf_found_name {
    const rlf_named *local;
    const rlf_ast_decl *decl;
    rlf_module *module; /* the module that declares it */
} rlf_found_name;
bool rlf_name_find(rlf_sema *s, const rlf_ast_name *name, rlf_found_name *out);
/* `alias.name` of an import. */
bool rlf_name_qualified(rlf_sema *s, const rlf_ast_expr *field,
                        rlf_found_name *out);
/* An error if the name is that of a built-in value or, of a `function`, of a
 * built-in function: it would be hidden. */
void rlf_name_refuse_builtin(rlf_sema *s, const rlf_ast_name *name,
                             bool function);
rlf_named *rlf_name_give(rlf_sema *s, const rlf_ast_name *name,
                         rlf_entity entity);
/* The same, of a name that the flow has some use for. */
void rlf_name_let(rlf_sema *s, const rlf_ast_name *name, rlf_entity entity,
                  const char *what);
/* Into `outside` again; the names given since then have ended. */
void rlf_scope_leave(rlf_sema *s, rlf_scope *outside);

/* ---- suggest.c ---- */

/* The kinds of entities that could stand where a name stands. */
typedef enum rlf_wanted {
    RLF_WANT_VALUE,
    RLF_WANT_FUNCTION,
    RLF_WANT_CHANGING /* a state or a model, on the left of `:=` */
} rlf_wanted;
/* Say that a name means nothing, and what was meant; `call`: the call of it as
 * a function, else NULL. */
void rlf_name_unknown(rlf_sema *s, const rlf_ast_name *name, rlf_wanted wanted,
                      const rlf_ast_expr *call);
/* Of a call of what is no function: the import of another name, or the file of
 * the library, that declares one of this name, if there is any. `hides`: the
 * program's own entity of that name hides what an import declares. */
bool rlf_import_hint(rlf_sema *s, rlf_diag *diag, const char *name, bool hides);
/* The same of a hook's call that was refused by the messages from `before` on:
 * if its first argument is no set, a function of the library may be meant. */
void rlf_import_hint_hook(rlf_sema *s, const rlf_ast_expr *call, size_t before);
/* The names of the library's files without ".rlf", in their order; how many. In
 * the arena. */
size_t rlf_library_files(rlf_sema *s, const char *const **out);
/* Of an import "std/..." that is not there: what the library has instead. */
void rlf_import_unknown(rlf_sema *s, rlf_diag *diag, const char *text);
rlf_scope *rlf_scope_push(rlf_sema *s, rlf_scope *parent, rlf_module *module);

/* ---- form.c: for messages ---- */

/* The text of the span, if it is short and of one line; else "...". */
const char *rlf_form_text(const rlf_sema *s, rlf_span span);
/* The kind of entity that a name is, without a use of it; NONE: another
 * expression, or a name of nothing. */
rlf_entity_kind rlf_form_kind(const rlf_sema *s, const rlf_ast_expr *e);
/* Of a call of what is no function, of what has a value, of no method of the
 * receiver: how it is written instead. False: no hint. */
bool rlf_form_function(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *call);
/* A sum, mean... that does not say over what. `axes`: what it may be over,
 * rlf_level_axes. */
const char *rlf_form_reduction(const rlf_sema *s, const char *name,
                               const rlf_ast_expr *call, const char *axes);
bool rlf_form_called(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *call);
bool rlf_form_method(rlf_sema *s, rlf_diag *diag, const rlf_entity *receiver,
                     const rlf_ast_expr *call);
/* Adds a hint with the methods that a model or set has, which is written
 * `x`. */
void rlf_form_methods(rlf_sema *s, rlf_diag *diag, const rlf_entity *receiver,
                      const char *x);

/* ---- param.c, resource.c ---- */

/* `name(...)` of a declaration; NULL after a message. */
const rlf_constructor *rlf_constructor_of(rlf_sema *s, rlf_resource_kind kind,
                                          const rlf_ast_expr *e);
/* Values of all parameters, defaults and settings checked. */
void rlf_sema_params(rlf_sema *s);
/* The entity of a declaration of data, model, hook or param; made when it is
 * first needed. */
rlf_entity rlf_sema_declared(rlf_sema *s, const rlf_ast_decl *decl,
                             rlf_module *module);
int rlf_sema_state(rlf_sema *s, const rlf_ast_decl *decl, rlf_module *module);
/* The optimizer's constructor call in a model's declaration, or NULL. */
const rlf_ast_expr *rlf_sema_optimizer(rlf_sema *s, int model,
                                       rlf_module **module);
/* Data, models and hooks, in the order of the program. */
void rlf_sema_resources(rlf_sema *s);
/* A parameter's value. */
rlf_entity rlf_param_value(rlf_sema *s, const rlf_ast_decl *decl,
                           rlf_module *module);

/* ---- data.c ---- */

/* The data set that `e` makes, entered as `name`; -1 after a message. */
int rlf_data_make(rlf_sema *s, const rlf_ast_expr *e, const char *name,
                  rlf_span span, const rlf_module *module);
/* Has a data set the field `name`, and of which kind? False after a message:
 * its file cannot be read. */
bool rlf_data_kind(rlf_sema *s, int data, const rlf_ast_name *name,
                   rlf_field *kind, const char **nearest);
/* Is `e` a part that an option keeps out of the data set *entity, by the
 * option's name? Then *entity becomes it, or nothing after a message. */
bool rlf_data_part(rlf_sema *s, rlf_entity *entity, const rlf_ast_expr *e);
/* A field of the data set in the condition that chooses its rows. */
rlf_entity rlf_data_field(rlf_sema *s, int data, const rlf_ast_expr *e);

/* ---- term.c ---- */

int rlf_term_number(rlf_sema *s, double value, rlf_span span);
int rlf_term_truth(rlf_sema *s, bool value, rlf_span span);
/* An error, with `what` before "is a number", and false, if the term is true or
 * false where a number is wanted. */
bool rlf_term_is_number(rlf_sema *s, int term, const char *what, rlf_span span);
/* The same where `true` or `false` is written as a side of a choice in what
 * counts or measures. */
bool rlf_term_is_written_number(rlf_sema *s, const rlf_ast_expr *e,
                                const char *what);
/* An error, and false, if `true` or `false` is written as `e` (NULL: nothing
 * is), or as a side of the choice that it is, where `what` takes numbers. */
bool rlf_term_takes(rlf_sema *s, const rlf_ast_expr *e, const char *what);
/* The same of an operation, with one operand or two, that computes. */
bool rlf_term_computes(rlf_sema *s, const rlf_ast_expr *e);
int rlf_term_words(rlf_sema *s, const char *words, rlf_span span);
/* The result of operations on terms; -1 after a message. Operands that are not
 * there are -1 too. */
int rlf_term_pointwise(rlf_sema *s, rlf_expr_code code, int a, int b, int c,
                       rlf_span at);
int rlf_term_down(rlf_sema *s, int term, int domain, rlf_span at);
/* An operation whose domain the caller knows; `arg`, -1 where there is none. */
int rlf_term_op(rlf_sema *s, rlf_term term);
int rlf_term_add(rlf_sema *s, rlf_term term);
/* Is the term a number that is known now? */
bool rlf_term_constant(const rlf_sema *s, int term, double *out);
/* Numbers between which a number that is used as such stays in every step, as
 * far as constants and `step` tell; -INFINITY, INFINITY: any. */
void rlf_term_bounds(const rlf_sema *s, int term, double *least, double *most);
/* Warn of a condition of numbers and `step` alone that holds in each step, or
 * in none; or row, as `what` says. `term`: its value. */
void rlf_condition_look(rlf_sema *s, const rlf_ast_expr *e, int term,
                        const char *what);
/* An end of a range of numbers; false: it is not known now. */
bool rlf_range_end(rlf_sema *s, const rlf_ast_expr *e, double *out);
/* "a number", "a time", "a number of bytes" */
const char *rlf_unit_word(rlf_unit unit);
/* A number that is used as such has no unit: says so. */
bool rlf_term_plain(rlf_sema *s, int term, rlf_span span);
void rlf_term_use(rlf_sema *s, int term);

/* ---- finite.c ---- */

/* `result` is the constant that an operation gives of constants: if it is the
 * first that is not finite, what is to be said of it. */
void rlf_finite_fold(rlf_sema *s, rlf_expr_code code, const int *args, int n,
                     int result, rlf_span at);
/* Sets t->nonfinite of an operation, by its operands. */
void rlf_finite_note(const rlf_sema *s, rlf_term *t);
/* A value is used at `use`, where `wrong` ends the run: false after a message.
 */
bool rlf_finite_use(rlf_sema *s, int term, rlf_nonfinite_kind wrong,
                    rlf_span use);
/* The same of what a statement does, which may never come to run: no more than
 * a warning then. */
bool rlf_finite_effect(rlf_sema *s, int term, rlf_span use);
/* A metric that is never finite is null: says so. */
void rlf_finite_metric(rlf_sema *s, const char *name, int term, rlf_span at);

/* ---- level.c ---- */

/* Has a set that may turn out to be empty the domain, or is one of those that
 * it belongs to such? */
bool rlf_level_may_be_empty(const rlf_sema *s, int domain);
/* The domain where a and b meet, or -1 after the message. */
int rlf_level_meet(rlf_sema *s, int a, int b, rlf_span at);
/* "one per sample of 'roll'" */
const char *rlf_level_name(const rlf_sema *s, int domain, int set);
rlf_level rlf_level_of(const rlf_sema *s, int domain);
/* The words of the vocabulary at each of these tokens; made when it is first
 * needed. */
int rlf_level_vocab(rlf_sema *s, int tokens);
/* A value per word lives in the expression or update that reduces it: one that
 * was named elsewhere is refused. */
bool rlf_level_here(rlf_sema *s, const rlf_entity *entity, rlf_span span);
/* Has term `x`, written at `at`, a value of its own for each token, as a
 * function that goes along a response takes it? False after a message where a
 * sum in it repeats a value of a sample or prompt. `what` takes it. */
bool rlf_level_own(rlf_sema *s, int x, const char *what, rlf_span at);
/* The words after `over` that a reduction of term `x` can have, as
 * "tokens|batch"; "": it is one number. */
const char *rlf_level_axes(const rlf_sema *s, int x);
int rlf_level_reduce(rlf_sema *s, const char *function, int x,
                     const rlf_ast_name *over, rlf_span at);

/* ---- measure.c ---- */

/* A number for a metric: as `term`, but rlf_expr_nothing() where it is the mean
 * (var, std, min, max) of a set that turns out to be empty. -1 after a message.
 */
int rlf_measure(rlf_sema *s, int term);

/* ---- set.c ---- */

/* Enter a set that nobody makes yet. */
int rlf_set_add(rlf_sema *s, rlf_set set);
/* The domain of all rows of a data set, below that of the one that it is a
 * choice of (or -1). */
int rlf_set_all_rows(rlf_sema *s, const char *name, int above, rlf_span span);
/* Some rows of a data set, or `all` of them. */
int rlf_set_draw(rlf_sema *s, const char *name, int data, bool all,
                 rlf_span span);
int rlf_set_generated(rlf_sema *s, const char *name, int from, bool several,
                      int model, rlf_span span);
/* `origin`: the set whose rows the texts belong to; -1 none. */
int rlf_set_asked(rlf_sema *s, const char *name, int domain, int origin,
                  rlf_span span);
int rlf_set_written(rlf_sema *s, const char *name, int domain, int to,
                    rlf_span span);
/* The conversations that the rows of set `of` are. */
int rlf_set_conversations(rlf_sema *s, const char *name, int of, rlf_span span);
/* Part of a set: by samples, or (whole prompts) by prompts. */
int rlf_set_part(rlf_sema *s, const char *name, int whole, bool by_prompt,
                 rlf_span span);
/* The part of set `x` that belongs to set `to`: one that is there already
 * (`x`, `to`), or a new one that nobody makes yet (*made). -1: there is none.
 */
int rlf_set_belonging(rlf_sema *s, int x, int to, rlf_span span, bool *made);
/* Are the rows of `domain` some of those of `whole`? */
bool rlf_set_some_of(const rlf_sema *s, int domain, int whole);
/* The set that a column's rows belong to, or -1. */
int rlf_set_of_domain(const rlf_sema *s, int domain);

/* ---- def.c ---- */

/* A def has no end of its own: one that is used in its own body has none. False
 * after a message. */
bool rlf_def_ends(rlf_sema *s, const rlf_ast_decl *def,
                  const rlf_ast_expr *call);
/* Names, and a return at the end? False after a message. */
bool rlf_def_form(rlf_sema *s, const rlf_ast_decl *def);
/* The kind of what the formal takes, if that is no number: "model", "set",
 * "text"; else NULL. */
const char *rlf_def_kind(const rlf_ast_formal *f);
/* Hints at what is called so elsewhere, for somebody who meant that. */
void rlf_def_hint_elsewhere(rlf_sema *s, rlf_diag *diag,
                            const rlf_ast_decl *def);
/* Puts the formal, whose value is not known, into the scope. */
void rlf_def_formal(rlf_sema *s, rlf_scope *scope, const rlf_ast_formal *f);

/* ---- range.c: in low..high ---- */

/* Reports ranges of the formals that can hold nothing, or not the default. */
void rlf_def_ranges(rlf_sema *s, const rlf_ast_decl *def);
/* Does an argument whose default is a number get one, and not true, false or a
 * condition? False after a message. */
bool rlf_range_measures(rlf_sema *s, const rlf_ast_decl *def,
                        const rlf_ast_formal *f, const rlf_ast_expr *given,
                        const rlf_entity *arg);
/* Is the argument, given at `at`, in the formal's range, for all that is known
 * before the run? False after a message. What depends on the run is looked at
 * in it. What is never taken need not fit. */
bool rlf_range_fits(rlf_sema *s, const rlf_ast_decl *def,
                    const rlf_ast_formal *f, const rlf_entity *arg,
                    rlf_span at);
/* An item that ends the run where the term is not what `formal` takes. */
void rlf_range_place(rlf_sema *s, const rlf_formal *formal, int term,
                     rlf_span at);

/* ---- def_unused.c ---- */

/* Errors in defs that were not expanded. */
void rlf_sema_unused_defs(rlf_sema *s);

/* ---- level.c ---- */

/* Is there such a reduction? False after a message. */
bool rlf_level_over_is(rlf_sema *s, const rlf_ast_name *over);

/* ---- eval.c ---- */

/* The value of a def's use. */
rlf_entity rlf_eval_def(rlf_sema *s, const rlf_ast_decl *def,
                        rlf_module *module, const rlf_ast_expr *call);
/* The set that an entity is (all rows of a data set); -1 after a message. */
int rlf_entity_set(rlf_sema *s, const rlf_entity *entity, rlf_span span);
/* Things of a flow cannot be used before the run starts: says so. */
bool rlf_eval_outside(rlf_sema *s, rlf_span span, const char *what);

rlf_entity rlf_eval(rlf_sema *s, const rlf_ast_expr *e);
/* The value as a number term; -1 after a message. */
int rlf_eval_number(rlf_sema *s, const rlf_ast_expr *e);
/* The same, of a number without a unit. */
int rlf_eval_plain(rlf_sema *s, const rlf_ast_expr *e);
int rlf_entity_number(rlf_sema *s, const rlf_entity *entity, rlf_span span);
const char *rlf_entity_word(const rlf_sema *s, const rlf_entity *entity);
rlf_entity rlf_entity_none(rlf_span span);
rlf_entity rlf_entity_term(const rlf_sema *s, int term, rlf_span span);

/* ---- builtin.c ---- */

/* Arithmetic by name: true if `name` is a built-in function. */
bool rlf_builtin_call(rlf_sema *s, const char *name, const rlf_ast_expr *call,
                      rlf_entity *out);
bool rlf_builtin_is(const char *name);
/* Is it one that takes `x over ...`, and nothing else? */
bool rlf_builtin_reduces(const char *name);
size_t rlf_builtin_names(const char **out, size_t room);
/* A sentence about it, without a full stop; NULL: it is none. */
const char *rlf_builtin_doc(const char *name);
/* "clamp(x, low, high)" */
const char *rlf_builtin_form(rlf_arena *arena, const char *name);

/* ---- call.c ---- */

rlf_entity rlf_call_function(rlf_sema *s, const rlf_node_class *class,
                             const rlf_ast_expr *call);
rlf_entity rlf_call_method(rlf_sema *s, const rlf_entity *receiver,
                           const rlf_ast_expr *call);
rlf_entity rlf_call_hook(rlf_sema *s, int hook, const rlf_ast_expr *call);
rlf_entity rlf_call_field(rlf_sema *s, const rlf_entity *receiver,
                          const rlf_ast_expr *field);
rlf_entity rlf_call_data(rlf_sema *s, int data, rlf_span span);
int rlf_call_state(rlf_sema *s, int state, rlf_span span);
/* A built-in value such as `step`, which a class without receiver gives. */
int rlf_call_value(rlf_sema *s, const rlf_node_class *class, rlf_span span);

/* ---- args.c: arguments against formals ---- */

/* Fill item's args and inputs from `args` by `formals`; false after a message.
 */
bool rlf_args_match(rlf_sema *s, const rlf_ast_args *args,
                    const rlf_formal *formals, int n_formals, bool extra,
                    const char *what, rlf_span at, rlf_item *item);
/* The arguments of a constructor of resources, as they were matched. */
bool rlf_args_constructor(rlf_sema *s, const rlf_ast_expr *call,
                          const rlf_constructor *c, rlf_resource_kind kind,
                          rlf_arg **out, int *n_out);

/* ---- formal.c: for messages ---- */

/* The formal that a label was meant to name; -1: who knows. */
int rlf_formal_meant(rlf_sema *s, const rlf_formal *formals, int n,
                     const char *label);
/* Could the formal take what is written so? */
bool rlf_formal_could_take(rlf_sema *s, const rlf_formal *f,
                           const rlf_ast_expr *e);
/* The formal that the label names, or that others call so; -1: none. */
int rlf_formal_known(rlf_sema *s, const rlf_formal *formals, int n,
                     const char *label);

/* Is it one of the words of "a|b|c"? `words` NULL: there are none. */
bool rlf_word_is_of(const char *words, const char *word);

/* ---- assign.c ---- */

/* The terms of a weighted sum of models, as args of an item of class ASSIGN:
 * sums, differences, factors and divisors, with parentheses. False after a
 * message. */
bool rlf_assign_sum(rlf_sema *s, rlf_item *item, const rlf_ast_expr *e);
/* Is `e` the state itself, as it is written: s, s + 0, 1 * s? */
bool rlf_assign_same(rlf_sema *s, const rlf_ast_decl *state,
                     const rlf_ast_expr *e);

/* ---- item.c ---- */

rlf_item *rlf_item_new(rlf_sema *s, const rlf_node_class *class, int receiver,
                       rlf_span span);
int rlf_item_input_term(rlf_sema *s, rlf_item *item, int term);
int rlf_item_input_set(rlf_sema *s, rlf_item *item, int set);
/* Enter the item into the present region; its number. Outputs are added after
 * that. */
int rlf_item_place(rlf_sema *s, const rlf_item *item);
int rlf_item_output_term(rlf_sema *s, int item, int domain, bool text, int set,
                         const char *name);
void rlf_item_output_set(rlf_sema *s, int item, int set);
/* One expression as the only argument of the class: an item that is not placed
 * yet, or NULL after a message. */
rlf_item *rlf_item_of(rlf_sema *s, const rlf_node_class *class, int resource,
                      const rlf_ast_expr *e, rlf_span span);
/* A region that is the body of an item (-1: the flow). */
int rlf_sema_part_new(rlf_sema *s, int parent);
/* The output of a class on `of` (a set, a resource; -1), the field `name` of it
 * (or NULL), in this region or around it: the term or set; -1: it did not yet.
 */
int rlf_item_made(const rlf_sema *s, const rlf_node_class *class, int of,
                  const char *name);
/* Keep it for this region. */
void rlf_item_keep(rlf_sema *s, const rlf_node_class *class, int of,
                   const char *name, int made);
/* Is region `inner` region `outer`, or inside of it? */
bool rlf_sema_part_holds(const rlf_sema *s, int outer, int inner);

/* ---- flow.c, collect.c, update.c ---- */

void rlf_sema_flow(rlf_sema *s);
void rlf_sema_statement(rlf_sema *s, const rlf_ast_stmt *stmt);
void rlf_sema_collect(rlf_sema *s, const rlf_ast_stmt *stmt);
void rlf_sema_update(rlf_sema *s, const rlf_ast_stmt *stmt);
/* The term of a reported metric, whose name is taken then; -1 after a message:
   it is not one number, or would be written twice. */
int rlf_sema_metric(rlf_sema *s, const rlf_ast_bind *bind);
/* A live call, if class and receiver make it one; its term. */
bool rlf_update_live(rlf_sema *s, const rlf_item *item, int set, int *term);
/* rlf_range_place of a term that depends on live calls, behind the update. */
void rlf_update_look(rlf_sema *s, const rlf_formal *formal, int term,
                     rlf_span at);

/* ---- narrow.c ---- */

/* Warns, in an update with a loss, of calls of which it takes some rows only,
 * because they meet calls on a part of their set. */
void rlf_narrow_warn(rlf_sema *s, const rlf_update_statement *u);

/* ---- unused.c ---- */

/* Warn of what the program says to no effect. */
void rlf_sema_unused(rlf_sema *s);

/* ---- place.c ---- */

/* `place` of the program, or of the plan file that stands for it, to
 * graph->placement. RLF_USER if that file cannot be read or places nothing. */
rlf_status rlf_sema_place(rlf_sema *s, rlf_err *err);
/* The rows of a text that is called `path`, after all else; a strategy stays
 * what it was. */
rlf_status rlf_sema_place_text(rlf_sema *s, const char *path, const char *text,
                               rlf_err *err);
/* The arguments of a row, for the test of the manual. */
const rlf_formal *rlf_place_formals(int *n);

/* ---- lower.c ---- */

void rlf_sema_lower(rlf_sema *s);

#endif
