/* Rows that a search keeps: what a program says beside `place auto`, or in its
 * place block with `plan --keep-rows`. A row fixes what is written in it, for
 * its call, or for the calls of its model that have no row of their own; the
 * search finds the rest. Only what is so written is among the choices. */
#ifndef RLF_SEARCH_FIXED_ROWS_H
#define RLF_SEARCH_FIXED_ROWS_H

#include "engine/search/pareto.h"

/* Is there any row to keep? */
bool rlf_fixed_rows_any(const rlf_pareto *pareto);
/* The row that the call of the problem keeps, or NULL. */
const rlf_place_row *rlf_fixed_rows_call(const rlf_pareto *pareto, int call);
/* The row of the whole model: what it says of offload, or NULL. */
const rlf_place_row *rlf_fixed_rows_model(const rlf_pareto *pareto, int model);
/* Do these ranks, and this cut, agree with the row? NULL: everything does. */
bool rlf_fixed_rows_allow_ranks(const rlf_place_row *fixed, int first,
                                int count);
bool rlf_fixed_rows_allow_cut(const rlf_place_row *fixed, int tp, int pp,
                              int dp);
/* Puts the words of the call's row into a row of that call. */
void rlf_fixed_rows_words(const rlf_place_row *fixed,
                          const rlf_node_class *call, rlf_place_row *row);
/* Returns the variants, of a sum of them (measure.h), of which the row says
 * nothing. */
int rlf_fixed_rows_free(const rlf_place_row *fixed, int variants);
/* Adds to the *n meshes of a cluster those that rows ask for beyond, in
 * `arena`, larger ones first. True: rows ask for ranks, so that those of
 * machines that are alike are not alike. */
bool rlf_fixed_rows_add_meshes(const rlf_pareto *pareto, rlf_arena *arena,
                               rlf_cluster_mesh **meshes, int *n);
/* Rows of models that nobody calls, whose weights lie where their rows say: *n,
 * in `arena`. */
rlf_place_row *rlf_fixed_rows_idle(const rlf_pareto *pareto, rlf_arena *arena,
                                   int *n);
/* Is it a mesh that the row of any call asks for, which is measured for itself?
 */
bool rlf_fixed_rows_name_mesh(const rlf_pareto *pareto,
                              const rlf_cluster_mesh *mesh);

/* RLF_USER, at its place, if the ranks of a row are not those of the problem or
 * do not follow one another. */
rlf_status rlf_fixed_rows_check(const rlf_pareto *pareto, rlf_err *err);
/* Fails: no layout is left of a call for which a row was kept. `why`: what was
 * wrong with the last one, or nothing. RLF_USER. */
rlf_status rlf_fixed_rows_fail(const rlf_pareto *pareto, int call,
                               const rlf_err *why, rlf_err *err);
/* If a row leaves its call only choices that do not fit into memory by
 * themselves: fails with how much is missing. Else RLF_OK. */
rlf_status rlf_fixed_rows_fit(const rlf_pareto *pareto, rlf_err *err);

#endif
