/* host.h -- this machine: its boot, its namespaces, its name and address. */
#ifndef VS_OS_HOST_H
#define VS_OS_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's boot id as 36 characters and a NUL.  0, or -1 with errno. */
#define VS_BOOT_ID_MAX 40
int vs_boot_id(char *buf);

/* What tells this process's uptime (CLOCK_BOOTTIME) from that of others on this machine: "" but in a time namespace.
 * 0, or -1 where the kernel does not tell. */
#define VS_BOOT_OFFSET_MAX 48
int vs_boot_offset(char buf[VS_BOOT_OFFSET_MAX]);

/* A variable of the environment.  NULL: it is not set, or empty, which everywhere means the same. */
const char *vs_environment(const char *name);

/* A number for this process's mount namespace; 0 where the kernel does not tell. */
uint64_t vs_mount_namespace(void);

/* This machine's name, "unknown" if it has none. */
void vs_host_name(char *buf, size_t size);

/* An address by which others may reach this machine, IPv4 where it has one.  0, or -1: it has none. */
#define VS_ADDRESS_MAX 64
int vs_host_address(char buf[VS_ADDRESS_MAX]);

/* The number behind the last '-' of a machine's name (domains aside), as a StatefulSet has it; -1: none. */
int64_t vs_host_ordinal(const char *host);

#endif
