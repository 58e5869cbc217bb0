/* Bytes that memory does not hold, on disk: files without a name, which are
 * gone when they are closed, however the process ends.
 *
 * Ranks of a process that would write the same share one: the first writes it,
 * the others read what it wrote. */
#ifndef RLF_IO_SPOOL_H
#define RLF_IO_SPOOL_H

#include "engine/base/status.h"

#include <stddef.h>

/* The spools of a process, in a directory that is there; NULL: where the system
 * has room for large temporary files (TMPDIR, else /var/tmp). Safe for several
 * threads. */
typedef struct rlf_spools rlf_spools;
rlf_spools *rlf_spools_new(const char *directory);
/* Called when all of its spools are closed. NULL is fine. */
void rlf_spools_free(rlf_spools *spools);

typedef struct rlf_spool rlf_spool;

/* The one that is called so; `spools` NULL: one of one's own. What is added to
 * it is to be the same whoever adds it. RLF_ENV if there can be none. */
rlf_status rlf_spool_open(rlf_spools *spools, const char *name, rlf_err *err,
                          rlf_spool **out);
/* n bytes more, from *at on. */
rlf_status rlf_spool_add(rlf_spool *spool, const void *p, size_t n,
                         rlf_err *err, uint64_t *at);
/* Nothing more comes: waits for who writes. RLF_ENV if that one could not. */
rlf_status rlf_spool_end(rlf_spool *spool, rlf_err *err);
/* n bytes from `at` on, once it has ended. */
rlf_status rlf_spool_read(const rlf_spool *spool, uint64_t at, void *p,
                          size_t n, rlf_err *err);
/* Returns its directory, for messages. */
const char *rlf_spool_directory(const rlf_spool *spool);
void rlf_spool_close(rlf_spool *spool); /* NULL is fine */

#endif
