/* host.h -- this machine's boot, namespaces, name and address. */
#ifndef VS_OS_HOST_H
#define VS_OS_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's boot id as 36 characters and a NUL.  0, or -1 with errno. */
#define VS_BOOT_ID_MAX 40
int vs_boot_id(char *buf);

/* A text that distinguishes this process's uptime (CLOCK_BOOTTIME) from the uptime in other time namespaces.  ""
 * outside a time namespace.  Returns 0, or -1 if the kernel does not report it. */
#define VS_BOOT_OFFSET_MAX 48
int vs_boot_offset(char buf[VS_BOOT_OFFSET_MAX]);

/* An environment variable.  NULL if it is unset or empty, which always mean the same. */
const char *vs_environment(const char *name);

/* The number of this process's mount namespace, or 0 if the kernel does not report it. */
uint64_t vs_mount_namespace(void);

/* This machine's name, or "unknown". */
void vs_host_name(char *buf, size_t size);

/* An address at which other machines may reach this one, preferably IPv4.  Returns 0, or -1 if there is none. */
#define VS_ADDRESS_MAX 64
int vs_host_address(char buf[VS_ADDRESS_MAX]);

/* The number after the last '-' of a machine's name without its domain, as in a StatefulSet, or -1. */
int64_t vs_host_ordinal(const char *host);

#endif
