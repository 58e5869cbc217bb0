/* file: URIs, as RFC 8089 has them. */
#include "engine/lsp/uri.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

void
rlf_lsp_plain(char *path)
{
    size_t n = 0, skip;
    if (path[0] != '/')
        return;
    for (const char *p = path; *p; p += skip) {
        skip = strcspn(p, "/") + (strchr(p, '/') != NULL);
        if ((*p == '/' && n) || !strncmp(p, "./", 2) || !strcmp(p, "."))
            continue;
        if (!strncmp(p, "../", 3) || !strcmp(p, "..")) {
            for (n -= n > 1; n > 1 && path[n - 1] != '/';)
                n--;
            continue;
        }
        memmove(path + n, p, skip);
        n += skip;
    }
    path[n] = 0;
}

char *
rlf_lsp_path(const char *uri)
{
    static const char scheme[] = "file://";
    char *path = malloc(strlen(uri) + 1), *to = path;
    if (!path)
        return NULL;
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return strcpy(path, uri);
    const char *p = uri + sizeof scheme - 1;
    if (*p != '/') /* the host */
        p += strcspn(p, "/");
    for (; *p; p++) {
        int high = *p == '%' ? digit(p[1]) : -1,
            low = high >= 0 ? digit(p[2]) : -1;
        if (low >= 0 && (high || low)) {
            *to++ = (char)(high * 16 + low);
            p += 2;
        } else
            *to++ = *p;
    }
    *to = 0;
    rlf_lsp_plain(path);
    return path;
}

char *
rlf_lsp_uri(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 8), *to = uri;
    if (!uri)
        return NULL;
    if (path[0] != '/')
        return strcpy(uri, path);
    to += sprintf(to, "file://");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++)
        if ((*p < 128 && isalnum(*p)) || strchr("/-._~", *p))
            *to++ = (char)*p;
        else
            to += sprintf(to, "%%%02X", *p);
    *to = 0;
    return uri;
}
