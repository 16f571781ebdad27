/*
 * The floor of the bench: AES-128-GCM and sendmmsg in a loop, nothing else. Node loads it, so that it uses Node's cipher functions.
 * run(ports: Uint16Array, address: uint32, packets, bytes) -> CPU nanoseconds of this thread
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <arpa/inet.h>
#include <node_api.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_VIEWERS = 256, MAX_BYTES = 1500 };

typedef struct {
  EVP_CIPHER_CTX *ciphers[MAX_VIEWERS];
  struct sockaddr_in to[MAX_VIEWERS];
  struct mmsghdr headers[MAX_VIEWERS];
  struct iovec vectors[MAX_VIEWERS];
  unsigned char out[MAX_VIEWERS][MAX_BYTES + 16];
} work;

static int64_t cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void prepare(work *all, const uint16_t *ports, size_t viewers, uint32_t address) {
  unsigned char key[16] = {1};
  for (size_t i = 0; i < viewers; i++) {
    all->ciphers[i] = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(all->ciphers[i], EVP_aes_128_gcm(), NULL, key, NULL);
    all->to[i].sin_family = AF_INET;
    all->to[i].sin_port = htons(ports[i]);
    all->to[i].sin_addr.s_addr = htonl(address);
    all->vectors[i].iov_base = all->out[i];
    all->headers[i].msg_hdr.msg_iov = &all->vectors[i];
    all->headers[i].msg_hdr.msg_iovlen = 1;
    all->headers[i].msg_hdr.msg_name = &all->to[i];
    all->headers[i].msg_hdr.msg_namelen = sizeof all->to[i];
  }
}

static void send_one(work *all, int fd, size_t viewers, uint32_t index, const unsigned char *payload, size_t bytes) {
  unsigned char iv[12] = {0};
  int done;
  memcpy(iv + 8, &index, sizeof index);
  for (size_t i = 0; i < viewers; i++) {
    EVP_EncryptInit_ex(all->ciphers[i], NULL, NULL, NULL, iv);
    EVP_EncryptUpdate(all->ciphers[i], NULL, &done, all->out[i], 12);
    EVP_EncryptUpdate(all->ciphers[i], all->out[i] + 12, &done, payload, (int)bytes - 12);
    EVP_EncryptFinal_ex(all->ciphers[i], all->out[i] + bytes, &done);
    EVP_CIPHER_CTX_ctrl(all->ciphers[i], EVP_CTRL_AEAD_GET_TAG, 16, all->out[i] + bytes);
    all->vectors[i].iov_len = bytes + 16;
  }
  for (size_t sent = 0; sent < viewers;) {
    int taken = sendmmsg(fd, all->headers + sent, (unsigned)(viewers - sent), MSG_DONTWAIT);
    sent += taken > 0 ? (size_t)taken : 1;
  }
}

static napi_value run(napi_env env, napi_callback_info info) {
  napi_value values[4], result;
  size_t count = 4, viewers = 0;
  uint32_t address = 0, packets = 0, bytes = 0;
  void *ports = NULL;
  static const unsigned char payload[MAX_BYTES];
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  napi_get_typedarray_info(env, values[0], NULL, &viewers, &ports, NULL, NULL);
  napi_get_value_uint32(env, values[1], &address);
  napi_get_value_uint32(env, values[2], &packets);
  napi_get_value_uint32(env, values[3], &bytes);
  work *all = calloc(1, sizeof *all);
  if (all == NULL || viewers > MAX_VIEWERS || bytes > MAX_BYTES || bytes < 12) return NULL;
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  prepare(all, ports, viewers, address);
  int64_t before = cpu();
  for (uint32_t i = 0; i < packets; i++) {
    send_one(all, fd, viewers, i, payload, bytes);
    /* Lets the receivers run, as between the packets of a stream. */
    usleep(2000);
  }
  napi_create_int64(env, cpu() - before, &result);
  for (size_t i = 0; i < viewers; i++) EVP_CIPHER_CTX_free(all->ciphers[i]);
  free(all);
  close(fd);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, NULL, &function);
  napi_set_named_property(env, exports, "run", function);
  return exports;
}
