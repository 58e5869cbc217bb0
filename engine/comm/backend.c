/* The transports between processes that this build has. The one file of
 * engine/comm that names them: who links no transport does not call it. */
#include "config.h"
#include "engine/comm/internal.h"

#include <string.h>

#define COMM_BACKEND(name) extern const rlf_comm_backend rlf_comm_##name;
#include "engine/comm/backend.def"

static const rlf_comm_backend *const backends[] = {
#define COMM_BACKEND(name) &rlf_comm_##name,
#include "engine/comm/backend.def"
    NULL};

const rlf_comm_backend *
rlf_comm_backend_launched(void)
{
    const char *name = rlf_comm_launcher_transport();
    const rlf_comm_backend *const *b = backends;
    while (name && *b && strcmp((*b)->name, name) != 0)
        b++;
    return name ? *b : NULL;
}
