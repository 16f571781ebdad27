/*
 * Reads the head of an HTTP/1.1 request that has no body. It accepts only what Node's parser reads in the same way, and what
 * needs no care with the connection (RFC 9112 sections 3, 5 and 9). All else is left to Node: the function never refuses.
 */
#ifndef SLUICE_REQUEST_HEAD_H
#define SLUICE_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { MAX_HEADERS = 100 };

/* The headers that decisions about viewers look at, and those in which players say how well they play. Keep the order of `RequestHead` in src/base/splice.ts. */
enum { ORIGIN, REFERER, USER_AGENT, FORWARDED_FOR, CMCD_REQUEST, CMCD_STATUS, VALUES };

typedef struct {
  const char *start;
  size_t length;
} text;

typedef struct {
  /* Bytes of the whole head, its empty line included. */
  size_t length;
  /* A GET without a range. */
  bool is_whole_get;
  text target;
  /* `start` is NULL: the header is absent. */
  text values[VALUES];
} request_head;

static inline bool is_token_char(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != 0 && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool is_value_char(unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

static inline bool is_space(char c) { return c == ' ' || c == '\t'; }

static inline bool equals(text given, const char *name) {
  return given.length == strlen(name) && strncasecmp(given.start, name, given.length) == 0;
}

/* What follows the request line, up to `end`. */
typedef struct {
  const char *at, *end;
} cursor;

static inline bool skip(cursor *rest, const char *wanted) {
  size_t length = strlen(wanted);
  if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, wanted, length) != 0) return false;
  rest->at += length;
  return true;
}

static inline bool read_request_line(cursor *rest, request_head *head) {
  head->is_whole_get = skip(rest, "GET ");
  if (!head->is_whole_get && !skip(rest, "HEAD ") && !skip(rest, "OPTIONS ")) return false;
  head->target.start = rest->at;
  while (rest->at < rest->end && *rest->at > ' ' && *rest->at < 0x7f) rest->at++;
  head->target.length = (size_t)(rest->at - head->target.start);
  return head->target.length > 0 && head->target.start[0] == '/' && skip(rest, " HTTP/1.1\r\n");
}

/* One line without its end. Spaces around the value do not belong to it. */
static inline bool read_header(cursor *rest, text *name, text *value) {
  name->start = rest->at;
  while (rest->at < rest->end && is_token_char((unsigned char)*rest->at)) rest->at++;
  name->length = (size_t)(rest->at - name->start);
  if (name->length == 0 || !skip(rest, ":")) return false;
  while (rest->at < rest->end && is_space(*rest->at)) rest->at++;
  value->start = rest->at;
  while (rest->at < rest->end && is_value_char((unsigned char)*rest->at)) rest->at++;
  const char *end = rest->at;
  while (end > value->start && is_space(end[-1])) end--;
  value->length = (size_t)(end - value->start);
  return skip(rest, "\r\n");
}

/* False: Node has to read this request. */
static inline bool take_header(request_head *head, size_t *hosts, text name, text value) {
  static const char *const names[VALUES] = {"origin", "referer", "user-agent", "x-forwarded-for", "cmcd-request", "cmcd-status"};
  static const char *const others[] = {"content-length", "transfer-encoding", "upgrade", "expect", "proxy-connection"};
  if (equals(name, "host")) return ++*hosts == 1;
  if (equals(name, "connection")) return equals(value, "keep-alive");
  if (equals(name, "range")) head->is_whole_get = false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (equals(name, others[i])) return false;
  }
  for (size_t i = 0; i < VALUES; i++) {
    if (!equals(name, names[i])) continue;
    /* Node joins or drops a second one. */
    if (head->values[i].start != NULL) return false;
    head->values[i] = value;
  }
  return true;
}

/* False: incomplete, or not a request that this reads. */
static inline bool read_head(const char *bytes, size_t length, request_head *head) {
  cursor rest = {.at = bytes, .end = bytes + length};
  size_t hosts = 0;
  memset(head, 0, sizeof *head);
  if (!read_request_line(&rest, head)) return false;
  for (size_t headers = 0; !skip(&rest, "\r\n"); headers++) {
    text name, value;
    if (headers == MAX_HEADERS || !read_header(&rest, &name, &value) || !take_header(head, &hosts, name, value)) return false;
  }
  head->length = (size_t)(rest.at - bytes);
  return hosts == 1;
}

#endif
