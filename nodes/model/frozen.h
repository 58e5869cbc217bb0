/* What a checkpoint has of a model that nothing changes: a checksum of each
 * tensor, as JSON.
 *
 * Its weights are what they were filled with, from a directory or by the seed,
 * and a run that is resumed opens the model from there before it reads any
 * checkpoint; a copy would only repeat those files every time. The checksums
 * are of the values as f32, so they hold for every layout. Where ranks hold the
 * model in parts all of them make these calls. */
#ifndef RLF_MODEL_FROZEN_H
#define RLF_MODEL_FROZEN_H

#include "nodes/model/model.h"

rlf_status rlf_frozen_save(rlf_model *model, const char *path, rlf_err *err);
/* Has it the weights that were saved? RLF_USER if not; `from`: where they are
 * from, for the message. */
rlf_status rlf_frozen_check(rlf_model *model, const char *path,
                            const char *from, rlf_err *err);

#endif
