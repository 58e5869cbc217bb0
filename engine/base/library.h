/* Shared libraries that are looked for when they are first needed, so that a
 * program which was built with them starts where they are not. */
#ifndef RLF_BASE_LIBRARY_H
#define RLF_BASE_LIBRARY_H

#include <stddef.h>

/* The library `name`, as the loader finds it, else in the folder `dir`: a
 * handle of dlopen. NULL: it cannot be opened, and `why` gets, in at most
 * `room` bytes, what the loader says of the first place and then of the second.
 */
void *rlf_library_open(const char *name, const char *dir, char *why,
                       size_t room);

#endif
