/* JSON files by jansson, with our errors.
 *
 * All numbers are read as doubles (a tokenizer's "model_max_length" of 1e30,
 * written as an integer, is common): integers are exact up to 2^53, larger ones
 * belong into texts. `file` in the getters is only for messages. */
#ifndef RLF_IO_JSON_H
#define RLF_IO_JSON_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <jansson.h>
#include <stdint.h>

/* Have jansson, which crashes where memory is missing, take it as all else
 * does (memory.h); but not if the host has given it functions of its own. When
 * a session is opened. */
void rlf_json_take_memory(void);
/* json_loadb; `missing`: it is NULL for want of memory. */
json_t *rlf_json_decode(const char *text, size_t n, size_t flags,
                        json_error_t *where, bool *missing);
/* Bytes of a file that is read as one JSON value: a tokenizer's largest are a
 * tenth of that. */
enum { RLF_JSON_MOST = 256 << 20 };
/* Read a whole file; the caller owns *out (json_decref). */
rlf_status rlf_json_load(const char *path, rlf_err *err, json_t **out);
/* As load; what is not an object is RLF_USER. */
rlf_status rlf_json_load_object(const char *path, rlf_err *err, json_t **out);
/* Parse n bytes; `file` and `line` (of the first byte) are for messages. An
 * object that has a key twice is RLF_USER: nobody knows which was meant. */
rlf_status rlf_json_parse(const char *file, uint32_t line, const char *text,
                          size_t n, rlf_err *err, json_t **out);

/* The findings of a parse, apart from the value. */
typedef struct rlf_json_found {
    bool rounded;  /* an integer of more than 64 bits: all are doubles */
    char why[120]; /* why it is JSON, but of no use: a key that is given twice,
                      a number out of a double's range; else empty */
} rlf_json_found;
/* The same, but integers of up to 64 bits stay integers, all their digits,
 * unless there is a larger one anywhere in it. */
rlf_status rlf_json_parse_exact(const char *file, uint32_t line,
                                const char *text, size_t n, rlf_err *err,
                                json_t **out, rlf_json_found *found);
/* Has it a double without a fraction? Where integers are doubles (`rounded`)
 * that may have been one. */
bool rlf_json_has_whole(const json_t *value);

/* Members of an object. Absent or null: RLF_USER if `need`, else *out keeps
 * what the caller put there. A value of another type is always RLF_USER.
 * Texts and values are borrowed from `object`. */
rlf_status rlf_json_get_int(const json_t *object, const char *file,
                            const char *key, bool need, rlf_err *err,
                            int64_t *out);
rlf_status rlf_json_get_number(const json_t *object, const char *file,
                               const char *key, bool need, rlf_err *err,
                               double *out);
rlf_status rlf_json_get_bool(const json_t *object, const char *file,
                             const char *key, bool need, rlf_err *err,
                             bool *out);
rlf_status rlf_json_get_text(const json_t *object, const char *file,
                             const char *key, bool need, rlf_err *err,
                             const char **out);
rlf_status rlf_json_get_object(const json_t *object, const char *file,
                               const char *key, bool need, rlf_err *err,
                               json_t **out);
rlf_status rlf_json_get_array(const json_t *object, const char *file,
                              const char *key, bool need, rlf_err *err,
                              json_t **out);
/* The value as an integer of at most 2^53; false if it is none. */
bool rlf_json_as_int(const json_t *value, int64_t *out);
/* "a number", "a text", "an object"...: what stands there. */
const char *rlf_json_word(const json_t *value);
/* Returns the text of `root` as files for others have it, in lines with sorted
 * keys, in the arena, and lets go of `root`. */
const char *rlf_json_print(json_t *root, rlf_arena *arena);

#endif
