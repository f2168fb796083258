/* module.c -- the extension's entry point and its settings. */
#include <postgres.h>

#include "extension.h"

#include <limits.h>
#include <miscadmin.h>
#include <sql.h>
#include <stdlib.h>
#include <utils/guc.h>

PG_MODULE_MAGIC;

void _PG_init(void);

char *vpg_directory, *vpg_default_name;
int vpg_wait_ms;
bool vpg_keeps;
uint64 vpg_directory_set;

#define WAIT_MS_MAX 60000
#define NAME_AND_ENDING_MAX (VESTA_NAMESPACE_MAX + 5) /* a slash, a name, .gen */

static bool is_in_data_directory(const char *directory) {
    char resolved[PATH_MAX];
    return path_is_prefix_of_path(DataDir, directory) ||
           (realpath(directory, resolved) && path_is_prefix_of_path(DataDir, resolved));
}

/* A base backup copies the data directory.  With a generator's store in it, two hosts would issue the same ids. */
static bool check_directory(char **value, void **extra, GucSource source) {
    char directory[MAXPGPATH];
    (void)extra;
    (void)source;
    strlcpy(directory, *value, sizeof directory);
    canonicalize_path(directory);
    if (!is_absolute_path(directory)) {
        GUC_check_errdetail("\"%s\" is not an absolute path.", *value);
        return false;
    }
    if (strlen(directory) + NAME_AND_ENDING_MAX > VPG_PATH_MAX) {
        GUC_check_errdetail("The path is longer than %d bytes.", VPG_PATH_MAX - NAME_AND_ENDING_MAX);
        return false;
    }
    if (DataDir && is_in_data_directory(directory)) {
        GUC_check_errdetail("\"%s\" is in the data directory, which base backups copy.", *value);
        GUC_check_errhint("Use a folder that is not copied to other hosts, for example /var/lib/vesta.");
        return false;
    }
    return true;
}

static void assign_directory(const char *value, void *extra) {
    (void)extra;
    if (!vpg_directory || strcmp(value, vpg_directory) != 0) vpg_directory_set++; /* a reload also sets the same value */
}

void _PG_init(void) {
    vs_sql_flags = VESTA_NO_KEEPER; /* the background worker renews the leases */
    DefineCustomStringVariable("vesta.directory", "The folder of the generator files that vesta_next() uses.",
                               "vesta_next('orders') uses the file orders.gen in this folder.", &vpg_directory,
                               "/var/lib/vesta", PGC_SIGHUP, 0, check_directory, assign_directory, NULL);
    DefineCustomStringVariable("vesta.name", "The generator of calls without a name.", NULL, &vpg_default_name,
                               VS_SQL_NAME, PGC_USERSET, 0, NULL, NULL, NULL);
    DefineCustomIntVariable("vesta.wait_ms", "How long a call waits if no id can be issued now.",
                            "Then the call fails with the reason and the remaining time.", &vpg_wait_ms, 2000, 0,
                            WAIT_MS_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
    DefineCustomBoolVariable("vesta.keep", "Whether a background worker renews the leases of all generators.",
                             "Turn it off if `vesta serve` on this host renews them.", &vpg_keeps, true, PGC_SIGHUP, 0,
                             NULL, NULL, NULL);
    MarkGUCPrefixReserved("vesta");
}
