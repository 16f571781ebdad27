import { choice, integer, list, text, toggle } from './keys.ts'
import { addressOrNetwork, hostToListenOn, httpUrl, nodeRegion } from './rules.ts'

/** The keys of the HTTP server and its node: a part of the one table in `schema.ts`. */
export const server = {
  server: {
    host: text({
      default: '0.0.0.0',
      allowed: 'an IPv4 or IPv6 address, or a host name',
      rule: hostToListenOn,
      about: 'The address that the HTTP server listens on; `::` listens on IPv6 and, on most systems, IPv4 too.',
    }),
    port: integer({
      default: 8080,
      min: 0,
      max: 65_535,
      about: 'The TCP port that the HTTP server listens on; 0 takes any free one and logs it.',
    }),
    publicUrl: text({
      live: true,
      default: '',
      allowed: 'empty, or a URL such as https://live.example.com',
      rule: httpUrl,
      about:
        'Where clients reach Sluice, with the path prefix of a proxy, for addresses that Sluice shows; ' +
        'empty: `server.nodeUrl`, or else the address of the request.',
    }),
    nodeUrl: text({
      default: '',
      allowed: 'empty, or a URL such as https://node1.example.com',
      rule: httpUrl,
      about: 'The URL of this node for clients, in a cluster; other nodes redirect viewers of its feeds here.',
    }),
    handover: choice(['cascade', 'redirect'], {
      default: 'cascade',
      about:
        'How this node serves WHEP viewers of a stream at another node: `cascade` brings the stream here, `redirect` sends the viewer there.',
    }),
    region: text({
      default: '',
      allowed: 'empty, or a name of letters, digits and -',
      rule: nodeRegion,
      about: 'Where this node is; nodes with the same name are near to each other, and empty is a region too.',
    }),
    trustedProxies: list({
      live: true,
      default: [],
      allowed: 'IPv4 or IPv6 addresses and networks, such as 10.0.0.0/8',
      rule: addressOrNetwork,
      about:
        'The proxies whose `X-Forwarded-For` and `X-Forwarded-Prefix` Sluice trusts; without them the address of the socket counts.',
    }),
    bodyLimitBytes: integer({
      default: 1_048_576,
      min: 1024,
      max: 67_108_864,
      about: 'The largest request body, in bytes; a larger one is refused with 413.',
    }),
    requestTimeoutSeconds: integer({
      default: 30,
      min: 1,
      max: 3600,
      about: 'The most time that a client may take to send a whole request, in seconds.',
    }),
    maxConnections: integer({
      live: true,
      default: 20_000,
      min: 16,
      max: 1_000_000,
      about:
        'The most open HTTP connections; new ones replace idle ones. A low limit of open files reduces the number.',
    }),
    maxConnectionsPerAddress: integer({
      live: true,
      default: 4000,
      min: 0,
      max: 1_000_000,
      about:
        'The most open HTTP connections of one IPv4 address or IPv6 /64, except trusted proxies; 0 means no limit.',
    }),
    maxEgressMegabits: integer({
      live: true,
      default: 0,
      min: 0,
      max: 1_000_000,
      about:
        'The most media that a node sends, in megabits per second; above it, new viewers get 503, and 0 means no limit.',
    }),
    splice: toggle({
      default: true,
      about:
        'Reads requests for media of HLS, and sends segments without copying them, in an addon; if it was not built, Node does it.',
    }),
    demo: toggle({
      default: true,
      about: 'Serves the demo page at `/demo`; the page grants no access by itself.',
    }),
    dashboard: toggle({
      default: true,
      about: 'Serves the dashboard at `/dashboard`; without it users cannot sign in.',
    }),
    drainSeconds: integer({
      live: true,
      default: 60,
      min: 0,
      max: 3600,
      about: 'How long a node that drains moves its publishers and viewers to other nodes, in seconds. Then it stops.',
    }),
    shutdownGraceSeconds: integer({
      live: true,
      default: 10,
      min: 0,
      max: 600,
      about: 'How long requests in progress may continue after a stop request, in seconds.',
    }),
  },
} as const
