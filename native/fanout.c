/*
 * Encrypts the packets of a track for each of its viewers (SRTP: RFC 3711, RFC 7714), sends many with one system call, and
 * decrypts the packets of publishers. The native back end of src/media/relay/forward/fanout.ts: JavaScript decides everything,
 * and parses and bounds all input. All state belongs to one instance of the module and is freed with it; nothing is global.
 *
 * Needs no library: the node binary exports the cipher functions.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "addon.h"

enum {
  HEADER = 12,
  MAX_PAYLOAD = 1460,
  MAX_TAG = 16,
  MAX_PACKET = HEADER + MAX_PAYLOAD + MAX_TAG,
  /* What a datagram can hold. */
  MAX_SEALED = 65535,
  /* Packets of one track that wait for `flush`. */
  MAX_QUEUE = 16,
  /* Messages of one sendmmsg. */
  BATCH = 64,
  /* Sealed packets of one sendmmsg: 190 kB. */
  ARENA_PACKETS = 128,
  MAX_HANDLES = 65536,
  /* Our own descriptors of the process's sockets: one for each address. */
  MAX_SOCKETS = 16,
  CM = 1,
  GCM = 7
};

/* The transport of one peer: its keys and its address. */
typedef struct {
  EVP_CIPHER_CTX *cipher;
  EVP_MAC_CTX *mac;
  unsigned char salt[14];
  int profile;
  int fd;
  /* Its packets leave one by one: the kernel refused a run to there, and took them singly. */
  bool is_single;
  struct sockaddr_storage to;
  socklen_t to_length;
} transport;

/* One outgoing stream of one viewer (FanoutTarget). */
typedef struct {
  uint32_t transport;
  uint32_t ssrc;
  uint32_t timestamp_offset;
  uint8_t payload_type;
  int64_t index_offset;
  int64_t first_index;
} target;

typedef struct {
  int64_t index;
  uint32_t timestamp;
  bool marker;
  size_t length;
  unsigned char payload[MAX_PAYLOAD];
} packet;

/* The targets of one track, and its packets that were not sent yet. */
typedef struct {
  target *targets;
  size_t count;
  size_t capacity;
  size_t queued;
  packet queue[MAX_QUEUE];
} list;

typedef struct {
  void *item;
  uint16_t uses;
} slot;

typedef struct {
  slot *slots;
  uint32_t size;
} table;

typedef union {
  char bytes[CMSG_SPACE(sizeof(uint16_t))];
  struct cmsghdr align;
} control;

/* What one instance of the module has. */
typedef struct instance {
  EVP_MAC *hmac;
  table transports;
  table lists;
  int sockets[MAX_SOCKETS];
  bool has_segmentation;
  int batch_fd;
  unsigned messages;
  unsigned packets;
  unsigned sent;
  struct mmsghdr headers[BATCH];
  struct iovec vectors[BATCH];
  control controls[BATCH];
  /* Packets of each message, and the size of all but the last. */
  unsigned counts[BATCH];
  size_t segment[BATCH];
  transport *receivers[BATCH];
  unsigned char arena[ARENA_PACKETS * MAX_PACKET];
} instance;

static void put16(unsigned char *at, uint32_t value) {
  at[0] = (unsigned char)(value >> 8);
  at[1] = (unsigned char)value;
}

static void put32(unsigned char *at, uint32_t value) {
  put16(at, value >> 16);
  put16(at + 2, value);
}

/* ---- Handles: the slot, and above its 16 bits how often it was used, so that an old handle finds nothing ---- */

static bool table_grow(table *all) {
  uint32_t size = all->size == 0 ? 64 : all->size * 2;
  slot *grown = size > MAX_HANDLES ? NULL : realloc(all->slots, size * sizeof *grown);
  if (grown == NULL) return false;
  memset(grown + all->size, 0, (size - all->size) * sizeof *grown);
  all->slots = grown;
  all->size = size;
  return true;
}

static bool table_add(table *all, void *item, uint32_t *handle) {
  uint32_t free_slot = 0;
  while (free_slot < all->size && all->slots[free_slot].item != NULL) free_slot++;
  if (free_slot == all->size && !table_grow(all)) return false;
  slot *taken = &all->slots[free_slot];
  taken->item = item;
  taken->uses = (uint16_t)(taken->uses + 1);
  *handle = (uint32_t)taken->uses << 16 | free_slot;
  return true;
}

static slot *table_find(const table *all, uint32_t handle) {
  uint32_t at = handle & 0xffff;
  return at < all->size && all->slots[at].item != NULL && all->slots[at].uses == handle >> 16 ? &all->slots[at] : NULL;
}

static void *table_get(const table *all, uint32_t handle) {
  const slot *found = table_find(all, handle);
  return found == NULL ? NULL : found->item;
}

static void *table_take(table *all, uint32_t handle) {
  slot *found = table_find(all, handle);
  if (found == NULL) return NULL;
  void *item = found->item;
  found->item = NULL;
  return item;
}

static void transport_free(transport *peer) {
  if (peer == NULL) return;
  EVP_CIPHER_CTX_free(peer->cipher);
  EVP_MAC_CTX_free(peer->mac);
  OPENSSL_cleanse(peer, sizeof *peer);
  free(peer);
}

static void list_free(list *track) {
  if (track == NULL) return;
  free(track->targets);
  free(track);
}

/* ---- Sealing ---- */

/* Salt XOR SSRC, roll-over count and sequence number, which begin at `at` (RFC 7714 section 8.1, RFC 3711 section 4.1.1). */
static void make_iv(const transport *peer, unsigned char *iv, size_t at, size_t salt_length, uint32_t ssrc, uint64_t index) {
  memset(iv, 0, 16);
  put32(iv + at, ssrc);
  put32(iv + at + 4, (uint32_t)(index >> 16));
  put16(iv + at + 8, (uint32_t)(index & 0xffff));
  for (size_t i = 0; i < salt_length; i++) iv[i] ^= peer->salt[i];
}

static size_t seal_gcm(transport *peer, unsigned char *out, const unsigned char *payload, size_t length, uint32_t ssrc, uint64_t index) {
  unsigned char iv[16];
  int done = 0;
  make_iv(peer, iv, 2, 12, ssrc, index);
  bool ok = EVP_EncryptInit_ex(peer->cipher, NULL, NULL, NULL, iv) == 1 &&
            EVP_EncryptUpdate(peer->cipher, NULL, &done, out, HEADER) == 1 &&
            (length == 0 || EVP_EncryptUpdate(peer->cipher, out + HEADER, &done, payload, (int)length) == 1) &&
            EVP_EncryptFinal_ex(peer->cipher, out + HEADER + length, &done) == 1 &&
            EVP_CIPHER_CTX_ctrl(peer->cipher, EVP_CTRL_AEAD_GET_TAG, 16, out + HEADER + length) == 1;
  return ok ? HEADER + length + 16 : 0;
}

static size_t seal_cm(transport *peer, unsigned char *out, const unsigned char *payload, size_t length, uint32_t ssrc, uint64_t index) {
  unsigned char iv[16], rollovers[4], tag[20];
  size_t tag_length = 0;
  int done = 0;
  make_iv(peer, iv, 4, 14, ssrc, index);
  put32(rollovers, (uint32_t)(index >> 16));
  bool ok = EVP_EncryptInit_ex(peer->cipher, NULL, NULL, NULL, iv) == 1 &&
            (length == 0 || EVP_EncryptUpdate(peer->cipher, out + HEADER, &done, payload, (int)length) == 1) &&
            EVP_MAC_init(peer->mac, NULL, 0, NULL) == 1 && EVP_MAC_update(peer->mac, out, HEADER + length) == 1 &&
            EVP_MAC_update(peer->mac, rollovers, sizeof rollovers) == 1 &&
            EVP_MAC_final(peer->mac, tag, &tag_length, sizeof tag) == 1;
  if (!ok) return 0;
  memcpy(out + HEADER + length, tag, 10);
  return HEADER + length + 10;
}

typedef struct {
  uint8_t payload_type;
  bool marker;
  uint64_t index;
  uint32_t timestamp;
  uint32_t ssrc;
} head;

/* One SRTP packet into `out`, which has room for MAX_PACKET bytes. Returns its length, 0 when OpenSSL failed. */
static size_t seal(transport *peer, unsigned char *out, const head *rtp, const unsigned char *payload, size_t length) {
  out[0] = 0x80;
  out[1] = (unsigned char)((rtp->payload_type & 0x7f) | (rtp->marker ? 0x80 : 0));
  put16(out + 2, (uint32_t)(rtp->index & 0xffff));
  put32(out + 4, rtp->timestamp);
  put32(out + 8, rtp->ssrc);
  return peer->profile == GCM ? seal_gcm(peer, out, payload, length, rtp->ssrc, rtp->index)
                              : seal_cm(peer, out, payload, length, rtp->ssrc, rtp->index);
}

/* ---- Opening ---- */

static bool open_gcm(transport *peer, unsigned char *data, size_t clear, size_t length, uint32_t ssrc, uint64_t index) {
  unsigned char iv[16], tag[16], rest[16];
  size_t body = length - clear - 16;
  int done = 0;
  make_iv(peer, iv, 2, 12, ssrc, index);
  memcpy(tag, data + clear + body, sizeof tag);
  return EVP_DecryptInit_ex(peer->cipher, NULL, NULL, NULL, iv) == 1 &&
         EVP_DecryptUpdate(peer->cipher, NULL, &done, data, (int)clear) == 1 &&
         (body == 0 || EVP_DecryptUpdate(peer->cipher, data + clear, &done, data + clear, (int)body) == 1) &&
         EVP_CIPHER_CTX_ctrl(peer->cipher, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) == 1 &&
         EVP_DecryptFinal_ex(peer->cipher, rest, &done) == 1;
}

static bool open_cm(transport *peer, unsigned char *data, size_t clear, size_t length, uint32_t ssrc, uint64_t index) {
  unsigned char iv[16], rollovers[4], tag[20];
  size_t tag_length = 0, body = length - clear - 10;
  int done = 0;
  make_iv(peer, iv, 4, 14, ssrc, index);
  put32(rollovers, (uint32_t)(index >> 16));
  bool ok = EVP_MAC_init(peer->mac, NULL, 0, NULL) == 1 && EVP_MAC_update(peer->mac, data, clear + body) == 1 &&
            EVP_MAC_update(peer->mac, rollovers, sizeof rollovers) == 1 &&
            EVP_MAC_final(peer->mac, tag, &tag_length, sizeof tag) == 1;
  if (!ok || CRYPTO_memcmp(tag, data + clear + body, 10) != 0) return false;
  return EVP_EncryptInit_ex(peer->cipher, NULL, NULL, NULL, iv) == 1 &&
         (body == 0 || EVP_EncryptUpdate(peer->cipher, data + clear, &done, data + clear, (int)body) == 1);
}

/* ---- Sending ---- */

/* Sends the segments of a message one by one. Returns how many the kernel took. */
static unsigned send_singly(instance *self, unsigned at) {
  const unsigned char *data = self->vectors[at].iov_base;
  size_t left = self->vectors[at].iov_len;
  unsigned taken = 0;
  const struct msghdr *message = &self->headers[at].msg_hdr;
  while (left > 0) {
    size_t size = left < self->segment[at] ? left : self->segment[at];
    if (sendto(self->batch_fd, data, size, MSG_DONTWAIT, message->msg_name, message->msg_namelen) >= 0) taken++;
    data += size;
    left -= size;
  }
  self->sent += taken;
  return taken;
}

/* Sends the sealed packets. A packet that the kernel does not take at once is dropped: media that waits is late. */
static void send_batch(instance *self) {
  unsigned at = 0;
  while (at < self->messages) {
    int taken = sendmmsg(self->batch_fd, self->headers + at, self->messages - at, MSG_DONTWAIT);
    if (taken > 0) {
      for (int i = 0; i < taken; i++) self->sent += self->counts[at++];
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) break;
    /*
     * A peer that is unreachable, or reachable only in small packets, must not cost the others anything. If the kernel accepts
     * single packets of a run that it refused, this peer gets single packets until its address changes.
     */
    if (self->counts[at] > 1 && (errno == EINVAL || errno == EIO || errno == EMSGSIZE || errno == EOPNOTSUPP)) {
      if (send_singly(self, at) > 0) self->receivers[at]->is_single = true;
    }
    at++;
  }
  self->messages = 0;
  self->packets = 0;
}

static void add_message(instance *self, transport *peer, unsigned char *data, size_t length, size_t segment, unsigned count) {
  unsigned at = self->messages++;
  struct msghdr *message = &self->headers[at].msg_hdr;
  self->vectors[at].iov_base = data;
  self->vectors[at].iov_len = length;
  self->counts[at] = count;
  self->segment[at] = segment;
  self->receivers[at] = peer;
  memset(message, 0, sizeof *message);
  message->msg_name = (void *)&peer->to;
  message->msg_namelen = peer->to_length;
  message->msg_iov = &self->vectors[at];
  message->msg_iovlen = 1;
  if (count == 1) return;
  uint16_t size = (uint16_t)segment;
  message->msg_control = self->controls[at].bytes;
  message->msg_controllen = sizeof self->controls[at].bytes;
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof size);
  memcpy(CMSG_DATA(header), &size, sizeof size);
}

/* How many packets from `at` on can be one message: all of one size, the last perhaps shorter. */
static size_t run_length(const instance *self, const list *track, const transport *peer, size_t at) {
  size_t end = at + 1;
  if (!self->has_segmentation || peer->is_single) return 1;
  while (end < track->queued && track->queue[end].length == track->queue[at].length) end++;
  if (end < track->queued && track->queue[end].length < track->queue[at].length) end++;
  return end - at;
}

/* Seals the run into the arena, contiguously; the target's packets before its first index are left out. */
static void send_run(instance *self, list *track, const target *to, transport *peer, size_t at, size_t count) {
  if (self->messages == BATCH || self->packets + count > ARENA_PACKETS || self->batch_fd != peer->fd) send_batch(self);
  self->batch_fd = peer->fd;
  unsigned char *data = self->arena + (size_t)self->packets * MAX_PACKET;
  size_t length = 0, segment = 0;
  unsigned sealed = 0;
  for (size_t i = at; i < at + count; i++) {
    const packet *from = &track->queue[i];
    int64_t index = from->index + to->index_offset;
    if (from->index < to->first_index || index < 0) continue;
    head rtp = {to->payload_type, from->marker, (uint64_t)index, from->timestamp + to->timestamp_offset, to->ssrc};
    size_t size = seal(peer, data + length, &rtp, from->payload, from->length);
    if (size == 0) break;
    if (sealed++ == 0) segment = size;
    length += size;
  }
  if (sealed == 0) return;
  self->packets += (unsigned)count;
  add_message(self, peer, data, length, segment, sealed);
}

static void flush_list(instance *self, list *track) {
  for (size_t i = 0; i < track->count; i++) {
    const target *to = &track->targets[i];
    transport *peer = table_get(&self->transports, to->transport);
    if (peer == NULL || peer->fd < 0) continue;
    for (size_t at = 0; at < track->queued;) {
      size_t count = run_length(self, track, peer, at);
      send_run(self, track, to, peer, at, count);
      at += count;
    }
  }
  send_batch(self);
  track->queued = 0;
}

/* ---- Functions for JavaScript. A wrong argument is a TypeError. ---- */

static void *item(arguments *call, const table *all, size_t at) {
  uint32_t handle = u32(call, at);
  void *found = call->ok ? table_get(all, handle) : NULL;
  if (found == NULL) call->ok = false;
  return found;
}

static bool set_keys(const instance *self, transport *peer, const unsigned char *key, const unsigned char *authentication) {
  peer->cipher = EVP_CIPHER_CTX_new();
  const EVP_CIPHER *kind = peer->profile == GCM ? EVP_aes_128_gcm() : EVP_aes_128_ctr();
  if (peer->cipher == NULL || EVP_EncryptInit_ex(peer->cipher, kind, NULL, key, NULL) != 1) return false;
  if (peer->profile == GCM) return true;
  char digest[] = "SHA1";
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
  peer->mac = EVP_MAC_CTX_new(self->hmac);
  return peer->mac != NULL && EVP_MAC_init(peer->mac, authentication, 20, parameters) == 1;
}

/* addTransport(profile: 1 | 7, key: 16 bytes, salt: 12 to 14, authentication: 20) -> handle */
static napi_value add_transport(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 4);
  size_t key_length, salt_length, authentication_length;
  uint32_t profile = u32(&call, 0), handle = 0;
  const unsigned char *key = bytes(&call, 1, 16, 16, &key_length);
  const unsigned char *salt = bytes(&call, 2, 12, 14, &salt_length);
  const unsigned char *authentication = bytes(&call, 3, 20, 20, &authentication_length);
  if (!call.ok || (profile != CM && profile != GCM) || salt_length != (profile == GCM ? 12 : 14)) return refuse(env);
  transport *peer = calloc(1, sizeof *peer);
  if (peer == NULL) return refuse(env);
  peer->profile = (int)profile;
  peer->fd = -1;
  memcpy(peer->salt, salt, salt_length);
  if (set_keys(call.self, peer, key, authentication) && table_add(&call.self->transports, peer, &handle)) return number(env, handle);
  transport_free(peer);
  return refuse(env);
}

/* Where the descriptor stands among those that `adoptSocket` made; -1: it is none of them. */
static int socket_slot(const instance *self, int fd) {
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] == fd) return i;
  }
  return -1;
}

/* route(transport, fd, address: 4 or 16 bytes, port): where its packets go from now on; fd 0 for nowhere. */
static napi_value route(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 4);
  transport *peer = call.ok ? item(&call, &call.self->transports, 0) : NULL;
  uint32_t fd = u32(&call, 1), port = u32(&call, 3);
  size_t length;
  const unsigned char *address = bytes(&call, 2, 4, 16, &length);
  if (!call.ok || peer == NULL || (length != 4 && length != 16) || port > 65535 || fd > INT32_MAX) return refuse(env);
  if (fd != 0 && socket_slot(call.self, (int)fd) < 0) return refuse(env);
  peer->fd = fd == 0 ? -1 : (int)fd;
  peer->is_single = false;
  peer->to_length = write_address(&peer->to, address, length, port);
  return NULL;
}

static napi_value remove_transport(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  uint32_t handle = u32(&call, 0);
  if (!call.ok) return refuse(env);
  transport_free(table_take(&call.self->transports, handle));
  return NULL;
}

static napi_value add_list(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 0);
  uint32_t handle = 0;
  list *track = call.ok ? calloc(1, sizeof *track) : NULL;
  if (track != NULL && table_add(&call.self->lists, track, &handle)) return number(env, handle);
  list_free(track);
  return refuse(env);
}

static napi_value remove_list(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  uint32_t handle = u32(&call, 0);
  if (!call.ok) return refuse(env);
  list_free(table_take(&call.self->lists, handle));
  return NULL;
}

/* addTarget(list, transport, ssrc, payloadType, indexOffset, timestampOffset, firstIndex) */
static napi_value add_target(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 7);
  list *track = call.ok ? item(&call, &call.self->lists, 0) : NULL;
  target added = {.transport = u32(&call, 1), .ssrc = u32(&call, 2), .timestamp_offset = u32(&call, 5)};
  added.payload_type = (uint8_t)(u32(&call, 3) & 0x7f);
  added.index_offset = i64(&call, 4);
  added.first_index = i64(&call, 6);
  if (!call.ok || track == NULL || table_get(&call.self->transports, added.transport) == NULL) return refuse(env);
  if (track->count == track->capacity) {
    size_t capacity = track->capacity == 0 ? 16 : track->capacity * 2;
    target *grown = capacity > MAX_HANDLES ? NULL : realloc(track->targets, capacity * sizeof *grown);
    if (grown == NULL) return refuse(env);
    track->targets = grown;
    track->capacity = capacity;
  }
  track->targets[track->count++] = added;
  return NULL;
}

/* removeTarget(list, transport, ssrc) */
static napi_value remove_target(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 3);
  list *track = call.ok ? item(&call, &call.self->lists, 0) : NULL;
  uint32_t peer = u32(&call, 1), ssrc = u32(&call, 2);
  if (!call.ok || track == NULL) return refuse(env);
  for (size_t i = 0; i < track->count; i++) {
    if (track->targets[i].transport != peer || track->targets[i].ssrc != ssrc) continue;
    memmove(track->targets + i, track->targets + i + 1, (track->count - i - 1) * sizeof *track->targets);
    track->count--;
    break;
  }
  return NULL;
}

/* queue(list, payload, index, timestamp, marker) -> how many packets wait now; at MAX_QUEUE it must be flushed first */
static napi_value queue(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 5);
  list *track = call.ok ? item(&call, &call.self->lists, 0) : NULL;
  size_t length;
  const unsigned char *payload = bytes(&call, 1, 0, MAX_PAYLOAD, &length);
  int64_t index = i64(&call, 2);
  uint32_t timestamp = u32(&call, 3);
  bool marker = boolean(&call, 4);
  if (!call.ok || track == NULL || track->queued == MAX_QUEUE) return refuse(env);
  packet *added = &track->queue[track->queued++];
  added->index = index;
  added->timestamp = timestamp;
  added->marker = marker;
  added->length = length;
  if (length > 0) memcpy(added->payload, payload, length);
  return number(env, (int64_t)track->queued);
}

/* flush(list) -> how many packets the kernel took */
static napi_value flush(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  list *track = call.ok ? item(&call, &call.self->lists, 0) : NULL;
  if (!call.ok || track == NULL) return refuse(env);
  call.self->sent = 0;
  flush_list(call.self, track);
  return number(env, call.self->sent);
}

/* seal(transport, payloadType, marker, index, timestamp, ssrc, payload) -> the SRTP packet */
static napi_value seal_one(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 7);
  transport *peer = call.ok ? item(&call, &call.self->transports, 0) : NULL;
  head rtp = {(uint8_t)u32(&call, 1), boolean(&call, 2), (uint64_t)i64(&call, 3), u32(&call, 4), u32(&call, 5)};
  size_t length;
  const unsigned char *payload = bytes(&call, 6, 0, MAX_PAYLOAD, &length);
  unsigned char out[MAX_PACKET];
  napi_value result = NULL;
  if (!call.ok || peer == NULL) return refuse(env);
  size_t size = seal(peer, out, &rtp, payload, length);
  if (size == 0 || napi_create_buffer_copy(env, size, out, NULL, &result) != napi_ok) return refuse(env);
  return result;
}

/* open(transport, sealed, clear, ssrc, index) -> whether it is authentic. The bytes after the first `clear` are decrypted in place. */
static napi_value open_one(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 5);
  transport *peer = call.ok ? item(&call, &call.self->transports, 0) : NULL;
  size_t length;
  unsigned char *sealed = (unsigned char *)bytes(&call, 1, HEADER + 10, MAX_SEALED, &length);
  uint32_t clear = u32(&call, 2), ssrc = u32(&call, 3);
  int64_t index = i64(&call, 4);
  napi_value result = NULL;
  if (!call.ok || peer == NULL || index < 0 || clear > length) return refuse(env);
  bool is_genuine = false;
  if (peer->profile == GCM && length - clear >= 16) {
    is_genuine = open_gcm(peer, sealed, clear, length, ssrc, (uint64_t)index);
  } else if (peer->profile == CM && length - clear >= 10) {
    is_genuine = open_cm(peer, sealed, clear, length, ssrc, (uint64_t)index);
  }
  napi_get_boolean(env, is_genuine, &result);
  return result;
}

/* adoptSocket(fd) -> a descriptor of our own for a datagram socket of this process; 0 when it is none */
static napi_value adopt_socket(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  uint32_t fd = u32(&call, 0);
  int type = 0;
  socklen_t length = sizeof type;
  if (!call.ok || fd > INT32_MAX) return refuse(env);
  int slot = socket_slot(call.self, 0);
  bool is_datagram = getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM;
  int own = slot >= 0 && is_datagram ? fcntl((int)fd, F_DUPFD_CLOEXEC, 3) : 0;
  if (own <= 0) return number(env, 0);
  call.self->sockets[slot] = own;
  return number(env, own);
}

static napi_value close_socket(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  uint32_t fd = u32(&call, 0);
  int slot = call.ok && fd > 0 && fd <= INT32_MAX ? socket_slot(call.self, (int)fd) : -1;
  if (slot < 0) return refuse(env);
  for (uint32_t i = 0; i < call.self->transports.size; i++) {
    transport *peer = call.self->transports.slots[i].item;
    if (peer != NULL && peer->fd == (int)fd) peer->fd = -1;
  }
  close((int)fd);
  call.self->sockets[slot] = 0;
  return NULL;
}

/* segments(transport) -> whether its runs of packets leave as one message each */
static napi_value segments(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  const transport *peer = call.ok ? item(&call, &call.self->transports, 0) : NULL;
  napi_value result = NULL;
  if (!call.ok || peer == NULL) return refuse(env);
  napi_get_boolean(env, call.self->has_segmentation && !peer->is_single, &result);
  return result;
}

static bool can_segment(void) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 0;
  socklen_t length = sizeof size;
  if (fd < 0) return false;
  bool can = getsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, &length) == 0;
  close(fd);
  return can;
}

static void instance_free(napi_env env, void *data, void *hint) {
  instance *self = data;
  (void)env;
  (void)hint;
  for (uint32_t i = 0; i < self->transports.size; i++) transport_free(self->transports.slots[i].item);
  for (uint32_t i = 0; i < self->lists.size; i++) list_free(self->lists.slots[i].item);
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] > 0) close(self->sockets[i]);
  }
  free(self->transports.slots);
  free(self->lists.slots);
  EVP_MAC_free(self->hmac);
  OPENSSL_cleanse(self->arena, sizeof self->arena);
  free(self);
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {
      {"addTransport", add_transport}, {"route", route},     {"removeTransport", remove_transport},
      {"addList", add_list},           {"queue", queue},     {"removeList", remove_list},
      {"addTarget", add_target},       {"flush", flush},     {"removeTarget", remove_target},
      {"adoptSocket", adopt_socket},   {"seal", seal_one},   {"closeSocket", close_socket},
      {"segments", segments},          {"open", open_one},
  };
  instance *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->batch_fd = -1;
  self->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  self->has_segmentation = can_segment();
  if (self->hmac == NULL || napi_set_instance_data(env, self, instance_free, NULL) != napi_ok) {
    instance_free(env, self, NULL);
    napi_throw_error(env, NULL, "the native fan-out has no HMAC");
    return NULL;
  }
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
