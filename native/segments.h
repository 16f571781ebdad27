/*
 * Memory of whole segments, and how it leaves on a socket of this process: the head of an answer, then the pages of the
 * segment themselves, through a pipe (vmsplice(2), splice(2)). Nothing is copied. A segment has pages of its own, which
 * nothing writes to any more. When its Buffer is gone they are unmapped, and the kernel frees them when no socket needs them.
 * Segments that come one after another lie side by side in huge pages, where the system has them: these cost the kernel less
 * to find and to send. They go one after another, too, so that few huge pages stay for a part of what was in them.
 */
#ifndef SLUICE_SEGMENTS_H
#define SLUICE_SEGMENTS_H

#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  /* What a process without privileges may have; 64 kB if it has many pipes. A larger segment takes several turns. */
  PIPE_BYTES = 1 << 20,
  /* With another size of huge pages, segments have usual ones. */
  HUGE_PAGE_BYTES = 2 << 20,
  NO_PIPE = -1
};

/* The state of one instance of the module. */
typedef struct instance {
  /* What needs the instance: segments in memory, watches, and the environment while it is alive. The last one frees it. */
  size_t references;
  /* Empty between two calls. */
  int reads_from, writes_to;
  /* Mapped, but not yet of any segment. */
  char *unused;
  size_t unused_length;
} instance;

typedef struct {
  instance *owner;
  char *start;
  size_t length;
} segment;

/* ---- The pipe ---- */

static bool open_pipe(instance *self) {
  int ends[2];
  if (self->writes_to != NO_PIPE) return true;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  self->reads_from = ends[0];
  self->writes_to = ends[1];
  fcntl(self->writes_to, F_SETPIPE_SZ, PIPE_BYTES);
  return true;
}

static void close_pipe(instance *self) {
  if (self->writes_to == NO_PIPE) return;
  close(self->reads_from);
  close(self->writes_to);
  self->reads_from = self->writes_to = NO_PIPE;
}

/* ---- Memory ---- */

static size_t round_up(size_t length, size_t unit) { return (length + unit - 1) / unit * unit; }

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void unmap(char *start, size_t length) {
  if (length > 0) munmap(start, length);
}

/* Maps whole huge pages in place of what is unused. False: there is no memory. */
static bool map_more(instance *self, size_t wanted) {
  const size_t length = round_up(wanted, HUGE_PAGE_BYTES);
  char *start = mmap(NULL, length + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return false;
  const size_t before = round_up((uintptr_t)start, HUGE_PAGE_BYTES) - (uintptr_t)start;
  unmap(start, before);
  unmap(start + before + length, HUGE_PAGE_BYTES - before);
  /* Where it fails, the pages are usual ones. */
  madvise(start + before, length, MADV_HUGEPAGE);
  unmap(self->unused, self->unused_length);
  self->unused = start + before;
  self->unused_length = length;
  return true;
}

/* Whole pages. NULL: there is no memory. */
static char *take_pages(instance *self, size_t length) {
  if (length > self->unused_length && !map_more(self, length)) return NULL;
  char *taken = self->unused;
  self->unused += length;
  self->unused_length -= length;
  return taken;
}

static void let_go(instance *self) {
  if (--self->references > 0) return;
  close_pipe(self);
  unmap(self->unused, self->unused_length);
  free(self);
}

/* Called when no Buffer of the memory is left. */
static void finalize(napi_env env, void *memory, void *hint) {
  segment *gone = hint;
  (void)env;
  unmap(memory, round_up(gone->length, page_bytes()));
  let_go(gone->owner);
  free(gone);
}

/* NULL: there is no memory. */
static segment *new_segment(instance *self, const struct iovec *parts, size_t count, size_t length) {
  segment *made = length <= SIZE_MAX / 2 ? malloc(sizeof *made) : NULL;
  if (made == NULL) return NULL;
  char *start = take_pages(self, round_up(length, page_bytes()));
  if (start == NULL) {
    free(made);
    return NULL;
  }
  char *at = start;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].iov_len == 0) continue;
    memcpy(at, parts[i].iov_base, parts[i].iov_len);
    at += parts[i].iov_len;
  }
  *made = (segment){.owner = self, .start = start, .length = length};
  self->references++;
  return made;
}

/* ---- Sending ---- */

/* What the kernel accepted, and why not more: 0 if nothing is left or the socket is full, else an errno. */
typedef struct {
  size_t bytes;
  int error;
} sent;

/* Passes what is in the pipe to the socket. */
static sent drain(int socket, int pipe, size_t length, bool is_last) {
  const unsigned flags = SPLICE_F_NONBLOCK | (is_last ? 0 : SPLICE_F_MORE);
  sent done = {0};
  while (done.bytes < length) {
    ssize_t moved = splice(pipe, NULL, socket, NULL, length - done.bytes, flags);
    if (moved < 0 && errno != EAGAIN) done.error = errno;
    if (moved <= 0) break;
    done.bytes += (size_t)moved;
  }
  return done;
}

/* Sends a segment from byte `from` on. */
static sent send_segment(instance *self, int socket, const segment *body, size_t from) {
  sent done = {0};
  while (from + done.bytes < body->length) {
    struct iovec rest = {.iov_base = body->start + from + done.bytes, .iov_len = body->length - from - done.bytes};
    ssize_t queued = open_pipe(self) ? vmsplice(self->writes_to, &rest, 1, SPLICE_F_NONBLOCK) : -1;
    if (queued <= 0) {
      done.error = ENOBUFS;
      break;
    }
    sent moved = drain(socket, self->reads_from, (size_t)queued, (size_t)queued == rest.iov_len);
    done.bytes += moved.bytes;
    if (moved.bytes == (size_t)queued) continue;
    done.error = moved.error;
    /* The rest must not reach the next socket. */
    close_pipe(self);
    break;
  }
  return done;
}

/*
 * The number of bytes of head and body that the kernel accepted: fewer than all when the socket is full. On an error, a
 * negative errno, it accepted none. Node ignores SIGPIPE.
 */
static int64_t send_both(int socket, const char *head, size_t head_length, const segment *body) {
  /* MSG_MORE: the head waits for the body, so that both leave in the same packets. */
  ssize_t taken = send(socket, head, head_length, MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (taken < 0) return -errno;
  if ((size_t)taken < head_length) return taken;
  return taken + (int64_t)send_segment(body->owner, socket, body, 0).bytes;
}

#endif
