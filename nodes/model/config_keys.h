/* Keys of a config.json, read with errors that name the file and the key.
 *
 * A key that is absent or null leaves *out as it was. RLF_USER: it is of
 * another type, or out of its bounds. */
#ifndef RLF_MODEL_CONFIG_KEYS_H
#define RLF_MODEL_CONFIG_KEYS_H

#include "engine/io/json.h"

typedef struct rlf_config_keys {
    const char *path; /* the path of the file that is being read */
    const json_t *root;
    rlf_err *err;
} rlf_config_keys;

/* A key that a family has under a name of its own; `also`: under both. */
typedef struct rlf_key_name {
    const char *key, *name; /* name NULL: it has no such key */
    bool also;
} rlf_key_name;

/* RLF_USER: the file and the key, then `why`. */
rlf_status rlf_config_fail(const rlf_config_keys *keys, const char *key,
                           const char *why);
/* The member, NULL if it is missing or null. */
const json_t *rlf_config_member(const json_t *object, const char *key);
/* RLF_USER: the member is null, which is no value of the key and not its
 * default. */
rlf_status rlf_config_refuse_null(const rlf_config_keys *keys,
                                  const json_t *object, const char *key);
/* Reads a number of the root or of an object in it, from `least` to `most`. */
rlf_status rlf_config_number(const rlf_config_keys *keys, const json_t *object,
                             const char *key, double least, double most,
                             double *out);
/* Reads an integer of the root. */
rlf_status rlf_config_int(const rlf_config_keys *keys, const char *key,
                          int least, int most, int *out);
rlf_status rlf_config_flag(const rlf_config_keys *keys, const char *key,
                           bool *out);

#endif
