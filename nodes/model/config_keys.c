#include "nodes/model/config_keys.h"

rlf_status
rlf_config_fail(const rlf_config_keys *keys, const char *key, const char *why)
{
    return rlf_fail(keys->err, RLF_USER, "%s: \"%s\" %s", keys->path, key, why);
}

const json_t *
rlf_config_member(const json_t *object, const char *key)
{
    const json_t *j = json_object_get(object, key);
    return !j || json_is_null(j) ? NULL : j;
}

rlf_status
rlf_config_refuse_null(const rlf_config_keys *keys, const json_t *object,
                       const char *key)
{
    return json_is_null(json_object_get(object, key))
               ? rlf_config_fail(keys, key,
                                 "must not be null: write its value, or leave "
                                 "it out where the default is meant")
               : RLF_OK;
}

rlf_status
rlf_config_number(const rlf_config_keys *keys, const json_t *object,
                  const char *key, double least, double most, double *out)
{
    rlf_err *err = keys->err;
    RLF_TRY(rlf_json_get_number(object, keys->path, key, false, err, out));
    if (rlf_config_member(object, key) && !(*out >= least && *out <= most))
        return rlf_fail(err, RLF_USER,
                        "%s: \"%s\" must be from %g to %g, not %g", keys->path,
                        key, least, most, *out);
    return RLF_OK;
}

rlf_status
rlf_config_int(const rlf_config_keys *keys, const char *key, int least,
               int most, int *out)
{
    int64_t x = *out;
    rlf_err *err = keys->err;
    RLF_TRY(rlf_json_get_int(keys->root, keys->path, key, false, err, &x));
    if (x < least || x > most)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" must be at %s %d",
                        keys->path, key, x < least ? "least" : "most",
                        x < least ? least : most);
    *out = (int)x;
    return RLF_OK;
}

rlf_status
rlf_config_flag(const rlf_config_keys *keys, const char *key, bool *out)
{
    return rlf_json_get_bool(keys->root, keys->path, key, false, keys->err,
                             out);
}
