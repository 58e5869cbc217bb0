/* Rows of `place`, checked and made data (engine/graph/place.h). Private to
 * grammar. */
#ifndef RLF_GRAMMAR_PLACE_ROW_H
#define RLF_GRAMMAR_PLACE_ROW_H

#include "engine/graph/place.h"
#include "grammar/passes.h"

typedef RLF_VEC(rlf_place_row) rlf_place_rows;

/* Adds the row to `list`; and to `pins` with only what it says of tp, pp and
 * dp. `fixes`: it stands beside `auto`, so that what it does not say is searched
 * for. A row that is wrong is a diagnostic, and is not added. */
void rlf_place_read_row(rlf_sema *s, const rlf_module *module,
                        const rlf_ast_row *ast, bool fixes,
                        rlf_place_rows *list, rlf_place_rows *pins);

#endif
