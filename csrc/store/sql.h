/* sql.h -- the text of one statement. */
#ifndef VS_STORE_SQL_H
#define VS_STORE_SQL_H

#include <stddef.h>

#define VS_SQL_MAX 8192
struct vs_sql {
    size_t length;
    char text[VS_SQL_MAX];
};

__attribute__((format(printf, 2, 3))) void vs_sql_add(struct vs_sql *sql, const char *format, ...);
/* Adds bytes in hex digits. */
void vs_sql_hex(struct vs_sql *sql, const void *bytes, size_t length);

#endif
