/* forged.h -- records with a valid checksum and a version that no store writes.  Any client with write access could
 * store them.  It replaces the store's own writer: link with --wrap=vs_record_write,--wrap=vs_ns_record_write. */
#ifndef SPEC_STORES_FORGED_H
#define SPEC_STORES_FORGED_H

#include "lease/record.h"

static uint64_t forged_ver; /* version of all written records.  0: unchanged */

size_t __real_vs_record_write(const struct vs_record *record, char *buf);
size_t __wrap_vs_record_write(const struct vs_record *record, char *buf);
size_t __wrap_vs_record_write(const struct vs_record *record, char *buf) {
    struct vs_record forged = *record;
    if (forged_ver) forged.ver = forged_ver;
    return __real_vs_record_write(&forged, buf);
}

size_t __real_vs_ns_record_write(const struct vs_ns_record *record, char *buf);
size_t __wrap_vs_ns_record_write(const struct vs_ns_record *record, char *buf);
size_t __wrap_vs_ns_record_write(const struct vs_ns_record *record, char *buf) {
    struct vs_ns_record forged = *record;
    if (forged_ver) forged.ver = forged_ver;
    return __real_vs_ns_record_write(&forged, buf);
}

#endif
