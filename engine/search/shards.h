/* Shards of the models of a program that is searched for, which are fixed
 * before anything is measured, and what tp they allow to its calls. */
#ifndef RLF_SEARCH_SHARDS_H
#define RLF_SEARCH_SHARDS_H

#include "engine/search/pareto.h"

/* The program's place row of a whole model; NULL: none. */
const rlf_place_row *rlf_shards_row(const rlf_pareto *pareto, int model);
/* The most that place rows keep of the model's tp, or of its update's dp; 1 at
 * least.
 */
int rlf_shards_said(const rlf_pareto *pareto, int model, bool tp);
/* Has the problem a call of the model? */
bool rlf_shards_called(const rlf_pareto *pareto, int model);
/* Shards of all models into pareto->sums, 0: as many as the largest tp; and the
 * lenders of calls. The calls of the problem, and what each needs, are known.
 */
void rlf_shards_set(rlf_pareto *pareto);
/* Is the model read by calls of other models, where these run? */
bool rlf_shards_lent(const rlf_pareto *pareto, int model);
/* May the call have that tp, by the shards of its lender? */
bool rlf_shards_allow(const rlf_pareto *pareto, int call, int tp);

#endif
