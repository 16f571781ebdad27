/*
 * The sockets of the bench's viewers. They are read in turns with as few system calls as possible, so that reading takes
 * almost nothing of the measured cores, and no datagram wakes a process.
 *   open(address: uint32) -> descriptor
 *   port(descriptor) -> number
 *   send(descriptor, datagram, address: uint32, port)
 *   receive(descriptors: Int32Array, counts: Uint32Array) -> [index, datagram, …]: all but media, and the first media packet;
 *     `counts` gets the number of media packets
 *   close(descriptor)
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <arpa/inet.h>
#include <node_api.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 32, MAX_BYTES = 2048, BUFFER_BYTES = 4 << 20, MAX_TURNS = 16 };

static uint32_t u32(napi_env env, napi_value value) {
  uint32_t read = 0;
  napi_get_value_uint32(env, value, &read);
  return read;
}

static napi_value number(napi_env env, uint32_t value) {
  napi_value result = NULL;
  napi_create_uint32(env, value, &result);
  return result;
}

static struct sockaddr_in at(uint32_t address, uint32_t port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  to.sin_addr.s_addr = htonl(address);
  return to;
}

static napi_value open_one(napi_env env, napi_callback_info info) {
  napi_value values[1];
  size_t count = 1;
  int size = BUFFER_BYTES;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  struct sockaddr_in local = at(u32(env, values[0]), 0);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  if (fd < 0 || bind(fd, (struct sockaddr *)&local, sizeof local) != 0) {
    napi_throw_error(env, NULL, "a viewer's socket cannot be opened");
    return NULL;
  }
  return number(env, (uint32_t)fd);
}

static napi_value port_of(napi_env env, napi_callback_info info) {
  napi_value values[1];
  size_t count = 1;
  struct sockaddr_in local = {0};
  socklen_t length = sizeof local;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  getsockname((int)u32(env, values[0]), (struct sockaddr *)&local, &length);
  return number(env, ntohs(local.sin_port));
}

static napi_value send_one(napi_env env, napi_callback_info info) {
  napi_value values[4];
  size_t count = 4, length = 0;
  void *data = NULL;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  struct sockaddr_in to = at(u32(env, values[2]), u32(env, values[3]));
  if (napi_get_buffer_info(env, values[1], &data, &length) != napi_ok) return NULL;
  sendto((int)u32(env, values[0]), data, length, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
  return NULL;
}

/* RFC 7983, and RFC 5761 to distinguish RTP from RTCP. */
static int is_media(const unsigned char *data, size_t length) {
  return length >= 12 && data[0] >= 128 && data[0] < 192 && (data[1] < 192 || data[1] > 223);
}

static void hand_out(napi_env env, napi_value out, uint32_t *filled, uint32_t place, const void *data, size_t length) {
  napi_value datagram;
  if (napi_create_buffer_copy(env, length, data, NULL, &datagram) != napi_ok) return;
  napi_set_element(env, out, (*filled)++, number(env, place));
  napi_set_element(env, out, (*filled)++, datagram);
}

static napi_value receive(napi_env env, napi_callback_info info) {
  static unsigned char buffers[AT_ONCE][MAX_BYTES];
  struct mmsghdr headers[AT_ONCE] = {0};
  struct iovec vectors[AT_ONCE];
  napi_value values[2], out;
  size_t count = 2, sockets = 0, counters = 0;
  uint32_t filled = 0, *counts = NULL;
  int32_t *fds = NULL;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  napi_get_typedarray_info(env, values[0], NULL, &sockets, (void **)&fds, NULL, NULL);
  napi_get_typedarray_info(env, values[1], NULL, &counters, (void **)&counts, NULL, NULL);
  napi_create_array(env, &out);
  for (size_t i = 0; i < AT_ONCE; i++) {
    vectors[i] = (struct iovec){.iov_base = buffers[i], .iov_len = MAX_BYTES};
    headers[i].msg_hdr.msg_iov = &vectors[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  for (uint32_t i = 0; i < sockets && i < counters; i++) {
    for (int turn = 0, got = AT_ONCE; turn < MAX_TURNS && got == AT_ONCE; turn++) {
      got = recvmmsg(fds[i], headers, AT_ONCE, MSG_DONTWAIT, NULL);
      for (int j = 0; j < got; j++) {
        int media = is_media(buffers[j], headers[j].msg_len);
        if (!media || counts[i] == 0) hand_out(env, out, &filled, i, buffers[j], headers[j].msg_len);
        if (media) counts[i]++;
      }
    }
  }
  return out;
}

static napi_value close_one(napi_env env, napi_callback_info info) {
  napi_value values[1];
  size_t count = 1;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  close((int)u32(env, values[0]));
  return NULL;
}

NAPI_MODULE_INIT() {
  static const struct {
    const char *name;
    napi_callback call;
  } functions[] = {{"open", open_one}, {"port", port_of}, {"send", send_one}, {"receive", receive}, {"close", close_one}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
