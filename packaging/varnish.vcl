# Varnish as a cache for HLS in front of Sluice. Name this machine in Sluice's `server.trustedProxies`. Start varnishd
# with `-p thread_pool_min=200` or more: each player that waits for a part holds a thread. See docs/guides/hls-cache.md.
vcl 4.1;

backend sluice {
  .host = "127.0.0.1";
  .port = "8080";
  # Longer than Sluice lets a request wait.
  .first_byte_timeout = 20s;
}

sub vcl_recv {
  if (req.restarts == 0) {
    unset req.http.X-Hls-Url;
    unset req.http.X-Hls-Checked;
    set req.http.X-Forwarded-For = client.ip;
  }
  # Only this machine itself reports bytes, and not its clients through it.
  if (req.url ~ "^/hls/cache-log") {
    return (synth(403));
  }
  if (req.url !~ "^/hls/~[^/]+/[^/]+/[^/]+/[^/]+$" || (req.method != "GET" && req.method != "HEAD")) {
    return (pass);
  }
  unset req.http.Cookie;
  if (!req.http.X-Hls-Checked) {
    # First the check of this viewer, then, after a restart, what it asked for.
    set req.http.X-Hls-Url = regsub(req.url, "\?(?!_HLS_msn=[0-9]+(&_HLS_part=[0-9]+)?$).*$", "");
    set req.url = regsub(req.url, "^(/hls/~[^/]+/[^/]+)/.*$", "\1/check");
  }
  return (hash);
}

sub vcl_hash {
  if (req.http.X-Hls-Checked) {
    # What follows the ticket is the same bytes for all viewers.
    hash_data(regsub(req.url, "^/hls/~[^/]+", ""));
  } else {
    hash_data(req.url);
    hash_data(client.ip);
    hash_data(req.http.Origin);
    # Distributions may have rules on these.
    hash_data(req.http.Referer);
    hash_data(req.http.User-Agent);
  }
  return (lookup);
}

sub vcl_backend_response {
  set beresp.grace = 0s;
  set beresp.keep = 0s;
  if (bereq.url ~ "^/hls/~[^/]+/[^/]+/check$" && (beresp.status == 401 || beresp.status == 403)) {
    set beresp.ttl = 1s;
    return (deliver);
  }
  # A playlist that waits for nothing is out of date with the next part, in a third of a second.
  if (bereq.url ~ "^/hls/~[^/]+/[^/]+/[^/]+/media\.m3u8$" && beresp.status == 200) {
    set beresp.ttl = 0.2s;
    return (deliver);
  }
}

sub vcl_deliver {
  if (req.http.X-Hls-Url && !req.http.X-Hls-Checked && resp.status == 204) {
    set req.url = req.http.X-Hls-Url;
    set req.http.X-Hls-Checked = "1";
    return (restart);
  }
  set resp.http.X-Cache = "MISS";
  if (obj.hits > 0) {
    set resp.http.X-Cache = "HIT";
  }
}
