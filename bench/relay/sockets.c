/*
 * The sockets of the bench's viewers. They are read in turns with as few system calls as possible, so that reading takes
 * almost nothing of the measured cores, and no datagram wakes a process.
 *   open(address: uint32) -> descriptor
 *   port(descriptor) -> number
 *   send(descriptor, datagram, address: uint32, port)
 *   receive(descriptors: Int32Array, counts: Uint32Array, frames: Uint32Array, arrivals: Float64Array) -> [index, datagram, …]:
 *     all but media, and the first media packet; `counts` gets the number of media packets, `frames` the latest RTP time;
 *     `arrivals` for the first packet of each frame the index, its RTP time and when it came (ms since 1970), from its second
 *     element on, and in its first element how many elements are filled
 *   now() -> ms since 1970, by the clock of arrivals
 *   close(descriptor)
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <arpa/inet.h>
#include <node_api.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 32, MAX_BYTES = 2048, CONTROL_BYTES = 64, BUFFER_BYTES = 4 << 20, MAX_TURNS = 16 };

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
  int size = BUFFER_BYTES, on = 1;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  struct sockaddr_in local = at(u32(env, values[0]), 0);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
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

static double ms_of(struct timespec time) {
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* When the kernel got a datagram; 0 if it does not say. */
static double arrival_of(struct msghdr *message) {
  for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one != NULL; one = CMSG_NXTHDR(message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(one), sizeof time);
    return ms_of(time);
  }
  return 0;
}

/* Notes the first packet of a frame. One of an earlier frame is a retransmission. */
static void note_frame(uint32_t index, const unsigned char *media, struct msghdr *message, uint32_t *latest,
                       double *arrivals, size_t room) {
  uint32_t time;
  memcpy(&time, media + 4, sizeof time);
  time = ntohl(time);
  size_t filled = (size_t)arrivals[0];
  if ((int32_t)(time - *latest) <= 0 || filled + 4 > room) return;
  *latest = time;
  arrivals[filled + 1] = index;
  arrivals[filled + 2] = time;
  arrivals[filled + 3] = arrival_of(message);
  arrivals[0] = (double)(filled + 3);
}

static napi_value receive(napi_env env, napi_callback_info info) {
  static unsigned char buffers[AT_ONCE][MAX_BYTES];
  static _Alignas(struct cmsghdr) unsigned char controls[AT_ONCE][CONTROL_BYTES];
  struct mmsghdr headers[AT_ONCE] = {0};
  struct iovec vectors[AT_ONCE];
  napi_value values[4], out;
  size_t count = 4, sockets = 0, counters = 0, latest = 0, room = 0;
  uint32_t filled = 0, *counts = NULL, *frames = NULL;
  double *arrivals = NULL;
  int32_t *fds = NULL;
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  napi_get_typedarray_info(env, values[0], NULL, &sockets, (void **)&fds, NULL, NULL);
  napi_get_typedarray_info(env, values[1], NULL, &counters, (void **)&counts, NULL, NULL);
  napi_get_typedarray_info(env, values[2], NULL, &latest, (void **)&frames, NULL, NULL);
  napi_get_typedarray_info(env, values[3], NULL, &room, (void **)&arrivals, NULL, NULL);
  napi_create_array(env, &out);
  for (size_t i = 0; i < AT_ONCE; i++) {
    vectors[i] = (struct iovec){.iov_base = buffers[i], .iov_len = MAX_BYTES};
    headers[i].msg_hdr.msg_iov = &vectors[i];
    headers[i].msg_hdr.msg_iovlen = 1;
    headers[i].msg_hdr.msg_control = controls[i];
  }
  for (uint32_t i = 0; i < sockets && i < counters && i < latest; i++) {
    for (int turn = 0, got = AT_ONCE; turn < MAX_TURNS && got == AT_ONCE; turn++) {
      for (size_t j = 0; j < AT_ONCE; j++) headers[j].msg_hdr.msg_controllen = CONTROL_BYTES;
      got = recvmmsg(fds[i], headers, AT_ONCE, MSG_DONTWAIT, NULL);
      for (int j = 0; j < got; j++) {
        int media = is_media(buffers[j], headers[j].msg_len);
        if (!media || counts[i] == 0) hand_out(env, out, &filled, i, buffers[j], headers[j].msg_len);
        if (!media) continue;
        counts[i]++;
        note_frame(i, buffers[j], &headers[j].msg_hdr, &frames[i], arrivals, room);
      }
    }
  }
  return out;
}

static napi_value now(napi_env env, napi_callback_info info) {
  (void)info;
  struct timespec time;
  napi_value result = NULL;
  clock_gettime(CLOCK_REALTIME, &time);
  napi_create_double(env, ms_of(time), &result);
  return result;
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
  } functions[] = {{"open", open_one},   {"port", port_of}, {"send", send_one},
                   {"receive", receive}, {"now", now},      {"close", close_one}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
