/* The families of models: each a file here. */
#ifndef RLF_MODEL_FAMILIES_FAMILIES_H
#define RLF_MODEL_FAMILIES_FAMILIES_H

#include "nodes/model/program.h"

/* Llama, Mistral, Qwen2 and Qwen3. */
void rlf_llama_rows(rlf_program *r);

#endif
