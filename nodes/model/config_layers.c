/* Layers that differ, as config.json says: see config_layers.h. */
#include "nodes/model/config_layers.h"

#include <limits.h>
#include <string.h>

#include "nodes/model/families/families.h"

/* Of the families with windows: keys that a query sees, and the first layer
 * that has a window, where config.json does not name them. */
enum { WINDOW = 4096, WINDOW_FROM = 28 };

/* layer_types says layer by layer which have a window. */
static rlf_status
read_types(const rlf_config_keys *r, const rlf_model_config *c, bool *windowed)
{
    const json_t *types = rlf_config_member(r->root, "layer_types");
    if (!types)
        return RLF_OK;
    if (!json_is_array(types) || (int)json_array_size(types) != c->layers)
        return rlf_config_fail(r, "layer_types", "must name every layer");
    for (int i = 0; i < c->layers; i++) {
        const char *word = json_string_value(json_array_get(types, (size_t)i));
        windowed[i] = word && !strcmp(word, "sliding_attention");
        if (!windowed[i] && (!word || strcmp(word, "full_attention")))
            return rlf_config_fail(r, "layer_types",
                                   "may hold full_attention and "
                                   "sliding_attention only");
    }
    return RLF_OK;
}

/* Reads the layers that rotate nothing: no_rope_layers has a 0 for each of
 * them, else every so many have none. */
static rlf_status
read_still(const rlf_config_keys *r, const rlf_family *f, rlf_arena *arena,
           rlf_model_config *c)
{
    rlf_err *err = r->err;
    static const char key[] = "no_rope_layers";
    const json_t *list = rlf_config_member(r->root, key);
    int every = f->still_every;
    if (!every)
        return RLF_OK;
    bool *still = RLF_NEW_ARRAY(arena, bool, c->layers);
    RLF_TRY(rlf_config_int(r, "no_rope_layer_interval", 1, INT_MAX, &every));
    if (list &&
        (!json_is_array(list) || (int)json_array_size(list) != c->layers))
        return rlf_config_fail(r, key, "must have a number for every layer");
    for (int i = 0; i < c->layers; i++) {
        int64_t turns = (i + 1) % every != 0;
        if (list &&
            (!rlf_json_as_int(json_array_get(list, (size_t)i), &turns) ||
             turns < 0 || turns > 1))
            return rlf_config_fail(r, key, "may hold 0 and 1 only");
        still[i] = !turns;
    }
    c->still = still;
    return RLF_OK;
}

/* Reads the layers that see only the last `window` keys. A key that is absent
 * and one that is null differ: null means no window. */
static rlf_status
read_window(const rlf_config_keys *r, const rlf_family *f, rlf_arena *arena,
            rlf_model_config *c)
{
    rlf_err *err = r->err;
    bool use = !f->window_key, some = false, all = true;
    bool absent = !json_object_get(r->root, "sliding_window");
    bool *windowed = RLF_NEW_ARRAY(arena, bool, c->layers);
    bool from_key = f->window_key && !f->still_every;
    int from = from_key ? WINDOW_FROM : 0, every = f->window_every;
    int window = f->window && !f->window_named && absent ? WINDOW : 0;
    if (f->window_key)
        RLF_TRY(rlf_config_flag(r, "use_sliding_window", &use));
    RLF_TRY(rlf_config_int(r, "sliding_window", every > 0, INT_MAX, &window));
    if (f->window_every_key)
        RLF_TRY(
            rlf_config_int(r, "sliding_window_pattern", 1, INT_MAX, &every));
    if (from_key)
        RLF_TRY(rlf_config_int(r, "max_window_layers", 0, INT_MAX, &from));
    for (int i = 0; i < c->layers; i++)
        windowed[i] = i >= from && (!every || (i + 1) % every) &&
                      (!c->still || c->still[i]);
    RLF_TRY(read_types(r, c, windowed));
    for (int i = 0; i < c->layers; i++) {
        some |= windowed[i];
        all &= windowed[i];
    }
    if (!f->window && window)
        return rlf_config_fail(
            r, "sliding_window",
            "is not of this model_type: which layers have one "
            "cannot be known");
    if (f->window && use && some && !window &&
        rlf_config_member(r->root, "sliding_window"))
        return rlf_config_fail(r, "sliding_window",
                               "must be at least 1, or null where no layer "
                               "has a window");
    if ((f->window_key || f->window_types) && some && !(use && window) &&
        rlf_config_member(r->root, "layer_types"))
        return rlf_config_fail(r, "layer_types",
                               use ? "has layers with a window, and "
                                     "sliding_window says that there is none"
                                   : "has layers with a window, and "
                                     "use_sliding_window is false");
    if (!f->window || !use || !window)
        return RLF_OK;
    if (!f->window_types && !all)
        return rlf_config_fail(r, "layer_types",
                               "asks for layers without the window that this "
                               "model_type has in all");
    c->window = some ? window : 0;
    c->windowed = some ? windowed : NULL;
    return RLF_OK;
}

rlf_status
rlf_config_layers(const rlf_config_keys *r, const rlf_family *f,
                  rlf_arena *arena, rlf_model_config *c)
{
    rlf_err *err = r->err;
    RLF_TRY(read_still(r, f, arena, c));
    return read_window(r, f, arena, c);
}
