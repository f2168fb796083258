/* fault.c -- see fault.h. */
#include "store/fault.h"
#include "base/array.h"
#include "base/error.h"
#include "store/store.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

static const char *const remedies[] = {
    [VS_FAULT_UNREACHABLE] = "start the store, or correct the host and port in its URI, or open the network path to it",
    [VS_FAULT_SILENT] = "check the load of the store and the network path to it",
    [VS_FAULT_NAME] = "correct the host name in the store's URI, or the name service of this machine",
    [VS_FAULT_STRANGER] = "correct the host and port in the store's URI: another program listens there",
    [VS_FAULT_TLS] = "in the URI ca=FILE names the server's CA, and tls=off connects without TLS",
    [VS_FAULT_WANTS_TLS] = "set tls=verify in the store's URI, and ca=FILE if you run the server's CA yourself",
    [VS_FAULT_LOGIN] =
        "correct the user and the password of the store and restart, or create that account on the server",
    [VS_FAULT_SOCKET_LOGIN] =
        "the account may log in by socket only: add ?socket=/run/mysqld/mysqld.sock to the URI, or set a "
        "password",
    [VS_FAULT_HOST] = "allow this machine on the server: create the account for it. FLUSH HOSTS lifts a block",
    [VS_FAULT_LOCKED_ACCOUNT] =
        "unlock the account: ALTER USER ... ACCOUNT UNLOCK, or FLUSH PRIVILEGES after wrong passwords",
    [VS_FAULT_EXPIRED_PASSWORD] = "set a new password with ALTER USER ... IDENTIFIED BY, and give it to vesta",
    [VS_FAULT_METHOD] =
        "give the account an authentication plugin that this client has, for example mysql_native_password",
    [VS_FAULT_SASL] =
        "configure the server to accept clients without SASL: vesta authenticates by digest (user:password)",
    [VS_FAULT_RIGHTS] = "grant the user the rights that docs/stores.md lists",
    [VS_FAULT_GRANT] =
        "GRANT USAGE ON SCHEMA, and SELECT, INSERT, UPDATE ON its tables, to the user (init also needs CREATE)",
    [VS_FAULT_HBA] = "add a line for this user, database and address to pg_hba.conf, and reload the server",
    [VS_FAULT_OWNER] = "use the user:password with which `vesta store init` was run",
    [VS_FAULT_FILE_RIGHTS] = "make the file and its folder writable for this user",
    [VS_FAULT_NO_DATABASE] = "CREATE DATABASE, then run `vesta store init`",
    [VS_FAULT_NO_SCHEMA] = "CREATE SCHEMA, or correct schema= in the store's URI, then run `vesta store init`",
    [VS_FAULT_NO_TABLES] = "run `vesta store init` with the right to CREATE (--again if the tables existed before)",
    [VS_FAULT_NO_COUNTERS] =
        "run `vesta store init --segments` with the right to CREATE, and grant SELECT, INSERT and UPDATE",
    [VS_FAULT_NO_ROOT] = "run `vesta store init` once (--again if the node existed before)",
    [VS_FAULT_SCHEMA] = "compare the table with the one in docs/stores.md",
    [VS_FAULT_ENGINE] = "ALTER TABLE ... ENGINE=InnoDB, because other engines lose acknowledged numbers in a crash",
    [VS_FAULT_UNLOGGED] = "ALTER TABLE ... SET LOGGED, because an unlogged table is emptied after a crash",
    [VS_FAULT_VERSION] = "use a server version that docs/stores.md lists",
    [VS_FAULT_READ_ONLY] = "name the primary in the store's URI, or make this server writable",
    [VS_FAULT_STANDBY] = "name the primary in the store's URI, or all servers: HOST1,HOST2",
    [VS_FAULT_MAJORITY] = "start the other servers of the cluster, until a majority of them runs",
    [VS_FAULT_OPTION] = "change that option of the server",
    [VS_FAULT_ENFORCED] = "unset enforce_storage_engine on the server, because vesta's tables need InnoDB",
    [VS_FAULT_BINLOG] = "set binlog_format=ROW or MIXED on the server",
    [VS_FAULT_CONNECTIONS] = "raise the server's limit of connections, or close some",
    [VS_FAULT_LOCKED] = "if this lasts, end the session that has locked the row or the table (SHOW PROCESSLIST)",
    [VS_FAULT_LOCKED_ROW] = "if this lasts, end the session that has locked the row or the table (pg_stat_activity)",
    [VS_FAULT_LOCKED_FILE] = "end or continue the process that has locked the file",
    [VS_FAULT_FULL] = "free space on the store's disk, or raise its quota",
    [VS_FAULT_DISK] = "check the disk, and restore the file from a backup if it is damaged",
    [VS_FAULT_MEMORY] = "free memory on this machine",
    [VS_FAULT_SERVER] = "check the error log of the server",
};
_Static_assert(VS_COUNT(remedies) == VS_FAULTS, "each fault has a remedy");

const char *vs_fault_remedy(enum vs_fault fault) {
    assert((unsigned)fault < VS_FAULTS);
    return remedies[fault];
}

enum vs_fault vs_fault_of_errno(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS: return VS_FAULT_FILE_RIGHTS;
    case ENOSPC:
    case EDQUOT: return VS_FAULT_FULL;
    case ENOMEM: return VS_FAULT_MEMORY;
    case EIO: return VS_FAULT_DISK;
    default: return VS_FAULT_NONE;
    }
}

static size_t fault_put(char *buf, size_t size, const char *text) {
    size_t length = strlen(text), room = length < size ? length : size - 1;
    memcpy(buf, text, room);
    buf[room] = '\0';
    vs_end_whole(buf);
    return strlen(buf);
}

const char *vs_reply_say(const struct vs_reply *reply, const char *otherwise, char *buf, size_t size) {
    const char *text = *reply->text ? reply->text : otherwise, *remedy = vs_fault_remedy(reply->fault);
    size_t behind = remedy ? strlen(". ") + strlen(remedy) : 0;
    bool is_long = *reply->text && strlen(text) + behind >= size;
    if (is_long && reply->words < strlen(text)) text += reply->words;
    size_t length = fault_put(buf, size, text);
    if (!remedy || length == 0 || strlen(text) + behind >= size) return buf;
    if (buf[length - 1] == '.') length--;
    length += fault_put(buf + length, size - length, ". ");
    fault_put(buf + length, size - length, remedy);
    buf[length] = (char)toupper((unsigned char)buf[length]);
    return buf;
}
