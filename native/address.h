/* Addresses from JavaScript: 4 bytes for IPv4, 16 for IPv6. */
#ifndef SLUICE_ADDRESS_H
#define SLUICE_ADDRESS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* For generic segmentation offload (GSO); the headers of old systems lack them. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

/* Writes the address, of `length` bytes, and the port into `to`. Returns the length of the socket address. */
static inline socklen_t write_address(struct sockaddr_storage *to, const unsigned char *address, size_t length, uint32_t port) {
  memset(to, 0, sizeof *to);
  if (length == 4) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)port);
    memcpy(&v4->sin_addr, address, 4);
    return sizeof *v4;
  }
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons((uint16_t)port);
  memcpy(&v6->sin6_addr, address, 16);
  return sizeof *v6;
}

#endif
