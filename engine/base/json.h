/* JSON that is written: pieces that several writers need. What is read is in
 * engine/io/json.h. */
#ifndef RLF_BASE_JSON_H
#define RLF_BASE_JSON_H

#include "engine/base/str.h"

/* A member `"key":text` of an object; of a text NULL, null. */
void rlf_json_text(rlf_buf *out, const char *key, const char *text);

#endif
