/* forged.h -- records under a right sum that no store of ours would write: whoever can write there can write any text,
 * so this is the store's own writer, turned hostile.  Link with --wrap=vs_record_write,--wrap=vs_ns_record_write. */
#ifndef SPEC_STORES_FORGED_H
#define SPEC_STORES_FORGED_H

#include "lease/record.h"

static uint64_t forged_ver; /* of all that is written; 0: its own */

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
