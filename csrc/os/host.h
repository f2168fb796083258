/* host.h -- this machine's boot, namespaces, name and address. */
#ifndef VS_OS_HOST_H
#define VS_OS_HOST_H

#include <stddef.h>
#include <stdint.h>

/* Writes the kernel's boot id as 36 characters and a NUL.  Returns 0, or -1 with errno. */
#define VS_BOOT_ID_MAX 40
int vs_boot_id(char *buf);

/* Writes a string that identifies this process's time namespace, because CLOCK_BOOTTIME differs between time
 * namespaces.  The string is "" in the initial namespace.  Returns 0, or -1 if the kernel does not report it. */
#define VS_BOOT_OFFSET_MAX 48
int vs_boot_offset(char buf[VS_BOOT_OFFSET_MAX]);

/* Returns an environment variable, or NULL if it is unset or empty.  vesta treats both cases alike. */
const char *vs_environment(const char *name);

/* Returns the inode number of this process's mount namespace, or 0 if the kernel does not report it. */
uint64_t vs_mount_namespace(void);

/* Writes this machine's host name, or "unknown". */
void vs_host_name(char *buf, size_t size);

/* Writes an address at which other machines may reach this one, preferably IPv4.  Returns 0, or -1 if there is none. */
#define VS_ADDRESS_MAX 64
int vs_host_address(char buf[VS_ADDRESS_MAX]);

/* Returns the ordinal in a host name such as "web-3.example.org", as Kubernetes assigns it in a StatefulSet: the number
 * after the last '-' before the domain.  Returns -1 if there is none. */
int64_t vs_host_ordinal(const char *host);

#endif
