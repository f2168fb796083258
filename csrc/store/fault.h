/* fault.h -- the causes of failed store calls, grouped by the operator's remedy.  A backend maps its error numbers to
 * these faults.  One table contains the remedy for each fault.  The log, /readyz and all commands print it. */
#ifndef VS_STORE_FAULT_H
#define VS_STORE_FAULT_H

enum vs_fault {
    VS_FAULT_NONE = 0, /* no fault, or the reply's text contains the remedy */
    /* faults of the connection to the store */
    VS_FAULT_UNREACHABLE,
    VS_FAULT_SILENT,
    VS_FAULT_NAME,
    VS_FAULT_STRANGER,
    VS_FAULT_TLS,
    VS_FAULT_WANTS_TLS,
    /* faults of the database user */
    VS_FAULT_LOGIN,
    VS_FAULT_SOCKET_LOGIN,
    VS_FAULT_HOST,
    VS_FAULT_LOCKED_ACCOUNT,
    VS_FAULT_EXPIRED_PASSWORD,
    VS_FAULT_METHOD,
    VS_FAULT_SASL,
    VS_FAULT_RIGHTS,
    VS_FAULT_GRANT,
    VS_FAULT_HBA,
    VS_FAULT_OWNER,
    VS_FAULT_FILE_RIGHTS,
    /* faults of the objects that a store needs */
    VS_FAULT_NO_DATABASE,
    VS_FAULT_NO_SCHEMA,
    VS_FAULT_NO_TABLES,
    VS_FAULT_NO_COUNTERS,
    VS_FAULT_NO_ROOT,
    VS_FAULT_SCHEMA,
    VS_FAULT_ENGINE,
    VS_FAULT_UNLOGGED,
    VS_FAULT_VERSION,
    /* faults of the server's state and settings */
    VS_FAULT_READ_ONLY,
    VS_FAULT_STANDBY,
    VS_FAULT_MAJORITY,
    VS_FAULT_OPTION,
    VS_FAULT_ENFORCED,
    VS_FAULT_BINLOG,
    VS_FAULT_CONNECTIONS,
    VS_FAULT_LOCKED,
    VS_FAULT_LOCKED_ROW,
    VS_FAULT_LOCKED_FILE,
    VS_FAULT_FULL,
    VS_FAULT_DISK,
    VS_FAULT_MEMORY,
    VS_FAULT_SERVER,
    VS_FAULTS
};

/* Returns the remedy, as an imperative that starts with a small letter, or as a command.  Returns NULL for
 * VS_FAULT_NONE. */
const char *vs_fault_remedy(enum vs_fault fault);

/* Maps the errno of a file operation to a fault. */
enum vs_fault vs_fault_of_errno(int error);

#endif
