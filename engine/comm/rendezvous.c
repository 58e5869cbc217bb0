/* Lets the processes of a world find each other: process 0 listens, and tells
 * the others where, and a cookie, over the backend; they connect and show the
 * cookie. Connections of strangers are dropped. IPv4. */
#define _GNU_SOURCE
#include "engine/base/clock.h"
#include "engine/comm/link.h"
#include "engine/dev/cores.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES 8
#define MEET_SECONDS 30 /* for all connections */
#define CALL_SECONDS 5  /* for one */

/* Every process tells all others this of itself. */
typedef struct hello {
    char host[256];
    uint64_t cookie;
    uint32_t addresses[ADDRESSES]; /* of process 0, network order */
    int32_t n_addresses, n_ranks;
    uint16_t port; /* network order */
    cpu_set_t cores;
} hello;

/* The first bytes on a new connection. */
typedef struct knock {
    uint64_t cookie;
    int64_t process;
} knock;

static struct sockaddr_in
address_of(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = address};
}

/* This machine's addresses but the loopback. */
static void
list_addresses(hello *h)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *a = all; a && h->n_addresses < ADDRESSES;
         a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
            !(a->ifa_flags & IFF_UP) || (a->ifa_flags & IFF_LOOPBACK))
            continue;
        struct sockaddr_in in;
        memcpy(&in, a->ifa_addr, sizeof in);
        h->addresses[h->n_addresses++] = in.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

/* Bind fd to the first free port of those that the options name. */
static int
bind_port(int fd, const rlf_comm_options *options)
{
    int one = 1, port = options->first_port, failed;
    /* one that the run before had may be waiting to be closed */
    if (port && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0)
        return -1;
    do {
        struct sockaddr_in at =
            address_of(htonl(INADDR_ANY), htons((uint16_t)port));
        failed = bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
                 listen(fd, SOMAXCONN) != 0;
    } while (failed && errno == EADDRINUSE && port++ < options->last_port);
    return failed ? -1 : 0;
}

static rlf_status
listen_for_others(const rlf_comm_options *options, hello *h, int *out,
                  rlf_err *err)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int fd = *out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind_port(fd, options) != 0) {
        rlf_fail_errno(err, "cannot listen for the other processes on %s",
                       h->host);
        if (options->first_port)
            rlf_err_hint(err, "--ports allows the ports %d to %d",
                         options->first_port, options->last_port);
        return RLF_ENV;
    }
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&at, &size) != 0 ||
        getrandom(&h->cookie, sizeof h->cookie, 0) != sizeof h->cookie)
        return rlf_fail_errno(err, "cannot listen for the other processes");
    h->port = at.sin_port;
    list_addresses(h);
    return RLF_OK;
}

/* Reads and writes of a connection that is being made do not wait for ever. */
static void
set_timeouts(int fd)
{
    struct timeval limit = {.tv_sec = CALL_SECONDS};
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int
call_address(uint32_t address, const hello *to, const knock *k)
{
    struct sockaddr_in at = address_of(address, to->port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    set_timeouts(fd);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        send(fd, k, sizeof *k, MSG_NOSIGNAL) != sizeof *k) {
        int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

/* Is the process the first one on its machine? */
static bool
is_first_here(const hello *all, int process)
{
    int first = 0;
    while (strcmp(all[first].host, all[process].host) != 0)
        first++;
    return first == process;
}

/* Connect to process 0. If that cannot be, the first process of each machine
 * has its rank in err: it is to say so, since process 0 does not know. */
static rlf_status
call(rlf_connections *links, const hello *all, rlf_err *err)
{
    const rlf_comm_world *world = links->world;
    const hello *to = &all[0];
    knock k = {to->cookie, world->process};
    int fd = -1;
    if (strcmp(to->host, all[world->process].host) == 0)
        fd = call_address(htonl(INADDR_LOOPBACK), to, &k);
    for (int i = 0; i < to->n_addresses && fd < 0; i++)
        fd = call_address(to->addresses[i], to, &k);
    if (fd < 0) {
        rlf_fail_errno(err, "process %d cannot reach process 0 on %s",
                       world->process, to->host);
        rlf_err_hint(err,
                     "let the machines of a run connect to each other by "
                     "TCP (port %d of %s; --ports says which it may be)",
                     ntohs(to->port), to->host);
        if (is_first_here(all, world->process))
            err->rank = world->process * world->local;
        return RLF_ENV;
    }
    links->links[links->n++] = (rlf_connection){.fd = fd, .process = 0};
    return RLF_OK;
}

static bool
is_new(const rlf_connections *links, int64_t process)
{
    for (int i = 0; i < links->n; i++)
        if (links->links[i].process == process)
            return false;
    return process > 0 && process < links->world->caps.n_processes;
}

/* Process 0 takes the calls of all others. */
static rlf_status
take_calls(rlf_connections *links, int listener, const hello *mine,
           rlf_err *err)
{
    int n = links->world->caps.n_processes - 1;
    uint64_t begin = rlf_clock_now();
    while (links->n < n) {
        double left = MEET_SECONDS - rlf_clock_since(begin);
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, (int)(left * 1000) + 1) == 0) {
            rlf_fail(err, RLF_ENV,
                     "%d of %d other processes have not connected to "
                     "process 0 after %d s",
                     n - links->n, n, MEET_SECONDS);
            rlf_err_hint(err,
                         "let the machines of a run connect to port %d of %s "
                         "by TCP; --ports says which it may be",
                         ntohs(mine->port), mine->host);
            return RLF_ENV;
        }
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        set_timeouts(fd);
        knock k;
        if (recv(fd, &k, sizeof k, MSG_WAITALL) == sizeof k &&
            k.cookie == mine->cookie && is_new(links, k.process))
            links->links[links->n++] =
                (rlf_connection){.fd = fd, .process = (int)k.process};
        else
            close(fd);
    }
    return RLF_OK;
}

/* Number the machines by first appearance; all must have equally many ranks. */
static rlf_status
compare(rlf_comm_world *world, const hello *all, rlf_err *err)
{
    world->caps.n_machines = 0;
    for (int p = 0; p < world->caps.n_processes; p++) {
        if (all[p].n_ranks != all[0].n_ranks)
            return rlf_fail(err, RLF_USER,
                            "process 0 has %d ranks and process %d has %d; "
                            "give every process the same number",
                            all[0].n_ranks, p, all[p].n_ranks);
        int q = 0;
        while (strcmp(all[q].host, all[p].host) != 0)
            q++;
        world->machine[p] =
            q < p ? world->machine[q] : world->caps.n_machines++;
    }
    return RLF_OK;
}

/* Launchers bind each process to cores of its own: those of a machine's
 * processes together are what the run has there. */
static void
count_cores(rlf_comm_world *world, const hello *all)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int p = 0; p < world->caps.n_processes; p++)
        if (world->machine[p] == world->machine[world->process])
            CPU_OR(&cores, &cores, &all[p].cores);
    double quota = rlf_cores_quota("/sys/fs/cgroup", "/proc/self/cgroup");
    world->n_cores = CPU_COUNT(&cores);
    if (quota > 0 && quota < world->n_cores)
        world->n_cores = (int)quota;
}

rlf_status
rlf_connections_meet(rlf_connections *links, rlf_err *err)
{
    rlf_comm_world *world = links->world;
    int n = world->caps.n_processes, listener = -1;
    hello mine = {.n_ranks = world->local};
    hello *all = rlf_calloc((size_t)n, sizeof *all);
    rlf_status status = RLF_OK;
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
    links->links = rlf_calloc((size_t)n, sizeof *links->links);
    if (world->process == 0)
        RLF_TRY_GOTO(
            listen_for_others(&world->options, &mine, &listener, err), end);
    RLF_TRY_GOTO(
        world->options.backend->share(world, &mine, sizeof mine, all, err),
        end);
    RLF_TRY_GOTO(compare(world, all, err), end);
    count_cores(world, all);
    if (world->process == 0)
        status = take_calls(links, listener, &mine, err);
    else
        status = call(links, all, err);
end:
    if (listener >= 0)
        close(listener);
    free(all);
    return status;
}
