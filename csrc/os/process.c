/* process.c -- reads the kernel's statistics about this process, for /metrics. */
#include "os/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool process_read_file(const char *path, char *buf, size_t size) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t got = fread(buf, 1, size - 1, file);
    fclose(file);
    buf[got] = '\0';
    return got > 0;
}

/* Returns the number of open descriptors.  Since Linux 6.2 this number is the size of /proc/self/fd.  Older kernels
 * report the size 0, so count the entries. */
static uint64_t open_fds(void) {
    struct stat st;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0) return (uint64_t)st.st_size;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count - 1; /* without dir's own descriptor */
}

static int64_t boot_unix_s(void) {
    char text[64];
    long long boot_s = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(text, sizeof text, file))
        if (sscanf(text, "btime %lld", &boot_s) == 1) break;
    if (file) fclose(file);
    return boot_s;
}

/* Returns VmHWM.  ru_maxrss would include the memory of the program that executed this one. */
static uint64_t peak_bytes(void) {
    static const char label[] = "\nVmHWM:";
    char text[4096];
    unsigned long long kib = 0;
    const char *line = process_read_file("/proc/self/status", text, sizeof text) ? strstr(text, label) : NULL;
    return line && sscanf(line + sizeof label - 1, "%llu", &kib) == 1 ? kib * 1024 : 0;
}

int vs_process_measure(struct vs_process_usage *out) {
    char text[1024];
    unsigned long long user, system, started, virtual_bytes;
    long long pages, hz = sysconf(_SC_CLK_TCK);
    struct rlimit limit;
    struct rusage used;
    if (!process_read_file("/proc/self/stat", text, sizeof text)) return -1;
    const char *after = strrchr(text, ')'); /* the name may contain any character */
    if (!after ||
        sscanf(after + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %llu %lld", &user,
               &system, &started, &virtual_bytes, &pages) != 5)
        return -1;
    out->cpu_ms = (user + system) * 1000 / (uint64_t)hz;
    out->start_unix_ms = boot_unix_s() * 1000 + (int64_t)(started * 1000 / (uint64_t)hz);
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        out->cpu_user_us = used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec;
        out->cpu_system_us = used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec;
    }
    out->peak_bytes = peak_bytes();
    out->system_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    out->virtual_bytes = virtual_bytes;
    out->resident_bytes = (uint64_t)(pages * sysconf(_SC_PAGESIZE));
    out->open_fds = open_fds();
    out->max_fds = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
    return 0;
}
