#include "store/sql.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void vs_sql_add(struct vs_sql *sql, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(sql->text + sql->length, sizeof sql->text - sql->length, format, args);
    va_end(args);
    assert(length >= 0);
    assert(sql->length + (size_t)length < sizeof sql->text);
    sql->length += (size_t)length;
}

void vs_sql_hex(struct vs_sql *sql, const void *bytes, size_t length) {
    static const char digit[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    assert(sql->length + 2 * length < sizeof sql->text);
    for (size_t i = 0; i < length; i++) {
        sql->text[sql->length++] = digit[at[i] >> 4];
        sql->text[sql->length++] = digit[at[i] & 15];
    }
    sql->text[sql->length] = '\0';
}
