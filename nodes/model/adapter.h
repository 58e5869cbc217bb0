/* Adapters of low rank, beside the products of any family (Hu et al. 2021):
 *
 *     y = x w^T + s (x a^T) b^T
 *
 * a: [rank, inputs], b: [outputs, rank]; s is alpha / rank, or alpha /
 * sqrt(rank) where it is to be stable in the rank (Kalajdzievski 2023). They
 * are rows that are put behind those that a family has appended, so that all
 * that follows from rows holds: two LINEAR and an ADD for each product, which
 * is computed as it stands, never merged. Only a, b and a scalar head are
 * trained; a, of a model that begins, is uniform and b is 0. With dropout x is
 * of a DROP row before it, one for each module.
 *
 * Names of tensors are those of the PEFT library: a module NAME of files has
 * NAME.lora_A.weight and NAME.lora_B.weight. What files have as one tensor (q,
 * k and v of GPT-2) is one module: one a, and one b in parts. */
#ifndef RLF_MODEL_ADAPTER_H
#define RLF_MODEL_ADAPTER_H

#include "nodes/model/program.h"

/* The prefix of the names of adapters' tensors, before that of the model's. */
#define RLF_ADAPTER_PREFIX "base_model.model."
/* A scalar head that was trained with them. */
#define RLF_ADAPTER_SCORE RLF_ADAPTER_PREFIX "score.weight"

/* The factor of the second product. */
double rlf_lora_scale(const rlf_lora *lora);
/* Adds adapters to the rows of a family, all of which are there: program.c
 * calls it. */
void rlf_adapters_add(rlf_program *r);

/* The last words of the names of all modules that can have one, each once, in
 * the order of rows; in `arena`. */
typedef struct rlf_module_list {
    const char **list;
    int n;
} rlf_module_list;
rlf_module_list rlf_adapters_modules(const rlf_model_config *config,
                                     rlf_arena *arena);
/* RLF_USER: a target that no module of the model has, with those that are
 * there.
 */
rlf_status rlf_adapters_check(const rlf_model_config *config, rlf_arena *arena,
                              rlf_err *err);

#endif
