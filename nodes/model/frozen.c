/* See frozen.h. Checksums are made at the first checkpoint, or when a run is
 * resumed; nothing changes them later. */
#include "nodes/model/frozen.h"

#include <inttypes.h>
#include <string.h>

#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "nodes/model/weights.h"

static void
add(void *sums, int tensor, const float *values, int64_t n)
{
    uint32_t *sum = (uint32_t *)sums + tensor;
    *sum = rlf_checksum(*sum, values, (size_t)n * sizeof *values);
}

static rlf_status
make_checksums(rlf_model *m, rlf_err *err)
{
    if (m->checksums)
        return RLF_OK;
    uint32_t *sums =
        RLF_NEW_ARRAY(m->arena, uint32_t, m->table->whole->n_slots);
    RLF_TRY(rlf_weights_visit(m, add, sums, err));
    m->checksums = sums;
    return RLF_OK;
}

rlf_status
rlf_frozen_save(rlf_model *m, const char *path, rlf_err *err)
{
    const rlf_table *whole = m->table->whole;
    RLF_TRY(make_checksums(m, err));
    if (!rlf_weights_writer(m))
        return RLF_OK;
    rlf_buf text = {0};
    rlf_buf_puts(&text, "{\"crc32\":{");
    for (int i = 0; i < whole->n_slots; i++) {
        const char *name = whole->slots[i].name;
        rlf_buf_puts(&text, i ? ",\n " : "\n ");
        rlf_buf_json(&text, name, strlen(name));
        rlf_buf_printf(&text, ":%" PRIu32, m->checksums[i]);
    }
    rlf_buf_puts(&text, "}}\n");
    rlf_status status = rlf_file_write(path, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
compare(const rlf_model *m, const json_t *root, const char *path,
        const char *from, rlf_err *err)
{
    const rlf_table *whole = m->table->whole;
    json_t *was;
    RLF_TRY(rlf_json_get_object(root, path, "crc32", true, err, &was));
    for (int i = 0; i < whole->n_slots; i++) {
        const char *name = whole->slots[i].name;
        int64_t sum;
        RLF_TRY(rlf_json_get_int(was, path, name, true, err, &sum));
        if (sum == m->checksums[i])
            continue;
        rlf_fail(err, RLF_USER, "%s has not the %s of the checkpoint in %s",
                 from, name, path);
        rlf_err_hint(err, "the files of a model that is only read were "
                          "changed: put back what the run began with");
        return RLF_USER;
    }
    return RLF_OK;
}

rlf_status
rlf_frozen_check(rlf_model *m, const char *path, const char *from, rlf_err *err)
{
    json_t *root = NULL;
    RLF_TRY(make_checksums(m, err));
    if (!rlf_weights_writer(m))
        return RLF_OK;
    RLF_TRY(rlf_json_load_object(path, err, &root));
    rlf_status status = compare(m, root, path, from, err);
    json_decref(root);
    return status;
}
