/* Names and formulas of the operations, for `rlflow version`, costs, tests. */
#include "kernels/kernels.h"

const rlf_op_info rlf_op_infos[RLF_N_OPS] = {
#define OP(name, doc, flops, bytes) {#name, doc, flops, bytes},
#include "kernels/op.def"
#undef OP
};
