/* Adapters in files, as the PEFT library has them: a directory with
 * adapter_config.json, which says what adapters there are, and
 * adapter_model.safetensors, which has their tensors and, if it was trained
 * with them, a scalar head.
 *
 * A setting of a file that is not supported is refused by its key. */
#ifndef RLF_MODEL_ADAPTER_FILES_H
#define RLF_MODEL_ADAPTER_FILES_H

#include "engine/io/safetensors.h"
#include "nodes/model/config.h"

#define RLF_ADAPTER_CONFIG "adapter_config.json"
#define RLF_ADAPTER_TENSORS "adapter_model.safetensors"

/* Has a directory an adapter? */
bool rlf_adapter_is(const char *dir);
/* `dir`/adapter_config.json; strings live in `arena`. RLF_USER with the file
 * and the key where something is missing, wrong or not supported. */
rlf_status rlf_adapter_config_read(const char *dir, rlf_arena *arena,
                                   rlf_err *err, rlf_lora *out);
/* The same of a model, to be saved beside its adapters; in `arena`. */
const char *rlf_adapter_config_text(const rlf_model_config *config,
                                    rlf_model_head head, rlf_arena *arena);
/* Are these tensors those that `lora` says, as far as can be known without the
 * model that they are beside? RLF_USER: one of another rank, or a target that
 * no module of a layer has. */
rlf_status rlf_adapter_tensors_check(const rlf_safetensors *file,
                                     const char *dir, const rlf_lora *lora,
                                     rlf_err *err);
/* `dir`/adapter_model.safetensors; to be closed. RLF_USER too where
 * adapter_config.json beside it says that a scalar head was trained, and it has
 * none. */
rlf_status rlf_adapter_tensors_open(const char *dir, rlf_err *err,
                                    rlf_safetensors **out);
/* Have they a scalar head? */
bool rlf_adapter_tensors_score(const rlf_safetensors *file);

#endif
