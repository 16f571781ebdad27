import { access } from './access.ts'
import { channels } from './channels.ts'
import { packaging } from './packaging.ts'
import { choice, integer, type Key, list, text, toggle } from './keys.ts'
import {
  address,
  addressOrNetwork,
  addressOrNothing,
  base64Of32Bytes,
  headerPrefix,
  headerSecret,
  hostToListenOn,
  httpUrl,
  iceServer,
  notEmpty,
  storageUrlRule,
} from './rules.ts'
import { sessions } from './sessions.ts'

/**
 * Every configuration key, once: its type, default, bounds and one sentence. The loader, `config.default.yaml` and
 * `docs/reference/configuration.md` all come from this table; after a change run `node scripts/generate.ts`.
 */
const schema = {
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
    nodeUrl: text({
      default: '',
      allowed: 'nothing, or a URL such as https://node1.example.com',
      rule: httpUrl,
      about:
        'Where clients reach this node of several; a viewer who asks another node for a feed of this one is sent here.',
    }),
    trustedProxies: list({
      default: [],
      allowed: 'IPv4 or IPv6 addresses and networks, such as 10.0.0.0/8',
      rule: addressOrNetwork,
      about: 'The proxies whose `X-Forwarded-For` is believed; without them the address of the socket counts.',
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
      about: 'How long a client may take to send a whole request, in seconds.',
    }),
    maxConnections: integer({
      default: 20_000,
      min: 16,
      max: 1_000_000,
      about:
        'How many HTTP connections may be open at a time; idle ones give way to new ones. Fewer where the limit of open files is low.',
    }),
    maxConnectionsPerAddress: integer({
      default: 4000,
      min: 0,
      max: 1_000_000,
      about: 'How many of them one IPv4 address or IPv6 /64 may have, trusted proxies apart; 0 means any number.',
    }),
    sendfile: toggle({
      default: true,
      about:
        'Whether segments of channels leave by `sendfile(2)`, where the addon for it was built; off, they are copied.',
    }),
    demo: toggle({
      default: true,
      about: 'Whether the page to broadcast and to watch with is served at `/demo`; it gives nobody any right.',
    }),
    shutdownGraceSeconds: integer({
      default: 10,
      min: 0,
      max: 600,
      about: 'How long requests in progress may go on after a stop was asked for, in seconds.',
    }),
  },
  storage: {
    url: text({
      default: '',
      secret: true,
      allowed: 'nothing, a file path, or postgres://user:password@host:port/database',
      rule: storageUrlRule,
      about: 'Where the data is kept; nothing means SQLite in `<data.dir>/sluice.db`. May hold a password.',
    }),
    poolSize: integer({
      default: 10,
      min: 1,
      max: 500,
      about: 'The most connections to PostgreSQL in the pool of one process; a server opens two more beside it.',
    }),
  },
  data: {
    dir: text({
      default: './data',
      allowed: 'a path',
      rule: notEmpty,
      about: 'The directory of everything that Sluice writes, relative to the working directory; made when missing.',
    }),
  },
  secrets: {
    sealingKey: text({
      default: '',
      secret: true,
      allowed: 'nothing, or the base64 of 32 bytes',
      rule: base64Of32Bytes,
      about: 'The key that seals token values; nothing means the file `<data.dir>/sealing.key`, made at first start.',
    }),
  },
  geoip: {
    database: text({
      default: '',
      allowed: 'nothing, or the path of an MMDB file',
      about: 'The country database for country rules; without one every address is of unknown country.',
    }),
  },
  rtmp: {
    enabled: toggle({
      default: true,
      about: 'Whether encoders may publish over RTMP.',
    }),
    host: text({
      default: '0.0.0.0',
      allowed: 'an IPv4 or IPv6 address, or a host name',
      rule: hostToListenOn,
      about: 'The address that RTMP listens on; `::` listens on IPv6 and, on most systems, IPv4 too.',
    }),
    port: integer({
      default: 1935,
      min: 0,
      max: 65_535,
      about: 'The TCP port that RTMP listens on; 0 takes any free one and logs it.',
    }),
    maxConnections: integer({
      default: 1000,
      min: 1,
      max: 100_000,
      about: 'How many RTMP connections may be open at a time; those that do not publish yet give way to new ones.',
    }),
    maxMessageBytes: integer({
      default: 8_388_608,
      min: 65_536,
      max: 16_777_215,
      about: 'The largest RTMP message, in bytes: one picture must fit into it.',
    }),
    handshakeSeconds: integer({
      default: 10,
      min: 1,
      max: 300,
      about: 'How long an encoder may take from the connection to the wish to publish, in seconds.',
    }),
    idleSeconds: integer({
      default: 10,
      min: 1,
      max: 300,
      about: 'How long a publishing encoder may send neither picture nor sound before it counts as gone, in seconds.',
    }),
    transcodeBFrames: toggle({
      default: true,
      about: 'Whether video with B-frames is encoded anew for WebRTC, which cannot carry them; else only HLS shows it.',
    }),
    ipFilters: choice(['refuse', 'enforce'], {
      default: 'refuse',
      about: 'What RTMP does with a token that has address rules: refuse it, or enforce them on the peer address.',
    }),
  },
  ...packaging,
  webrtc: {
    host: text({
      default: '',
      allowed: 'nothing, or an IPv4 or IPv6 address',
      rule: addressOrNothing,
      about: 'The address that media is taken on; nothing means all of this machine, IPv4 and IPv6.',
    }),
    port: integer({
      default: 8081,
      min: 0,
      max: 65_535,
      about:
        'The UDP and TCP port of the first media process, the others take those that follow; 0 takes any free ones.',
    }),
    processes: integer({
      default: 0,
      min: 0,
      max: 64,
      about: 'How many media processes there are; 0 means one less than there are cores, and at least one.',
    }),
    publicAddresses: list({
      default: [],
      allowed: 'IPv4 or IPv6 addresses',
      rule: address,
      about: 'The addresses that publishers and viewers are told to send media to, in place of those of this machine.',
    }),
    maxBitrateKilobits: integer({
      default: 8000,
      min: 100,
      max: 1_000_000,
      about: 'The most that one publisher is asked to send, in kilobits per second.',
    }),
    publisherTimeoutSeconds: integer({
      default: 15,
      min: 5,
      max: 30,
      about:
        'How long a broadcast goes on while nothing comes from its publisher, in seconds, so that one whose network was away can come back.',
    }),
    iceServers: list({
      default: [],
      allowed: 'stun:HOST:PORT, or turn:HOST:PORT?transport=udp followed by a user name and a credential',
      rule: iceServer,
      about: 'The STUN and TURN servers that publishers and viewers are told of; needed only behind strict firewalls.',
    }),
    pendingOffers: integer({
      default: 256,
      min: 1,
      max: 4096,
      about: 'How many WHIP and WHEP offers may be under way at a time; more are told to come again.',
    }),
  },
  ...access,
  audit: {
    retentionDays: integer({
      default: 365,
      min: 1,
      max: 36_500,
      about: 'How long the record of who changed what is kept, in days.',
    }),
  },
  log: {
    level: choice(['debug', 'info', 'warn', 'error'], {
      default: 'info',
      about: 'The least important messages that are logged.',
    }),
    format: choice(['json', 'pretty'], {
      default: 'json',
      about: 'How a message is written: an object per line for machines, or plain text per line for people.',
    }),
  },
  metrics: {
    secret: text({
      default: '',
      secret: true,
      allowed: 'nothing, or 16 or more visible ASCII characters',
      rule: headerSecret,
      about: 'What `/metrics` wants as `Authorization: Bearer`; nothing means that only this machine may read it.',
    }),
  },
  bindings: {
    flushSeconds: integer({
      default: 5,
      min: 1,
      max: 300,
      about: 'How often the last use of bound addresses is written to the store, in seconds.',
    }),
  },
  ...sessions,
  analytics: {
    retentionDays: integer({
      default: 400,
      min: 31,
      max: 3650,
      about: 'How long the sums of bytes are kept, in days.',
    }),
  },
  webhooks: {
    allowPrivateTargets: toggle({
      default: false,
      about: 'Whether webhooks may point to private addresses and plain http: for closed networks and tests only.',
    }),
    caFile: text({
      default: '',
      allowed: 'nothing, or the path of a PEM file',
      about: 'Certificate authorities that are trusted beside the usual ones when webhooks are called.',
    }),
    headerPrefix: text({
      default: 'X-Service-',
      allowed: 'words of letters and digits that each end with -',
      rule: headerPrefix,
      about: 'What the names of the signature and thumbnail headers of callbacks begin with.',
    }),
    deliveryRetentionDays: integer({
      default: 30,
      min: 1,
      max: 3650,
      about: 'How long the log of deliveries to webhooks is kept, in days.',
    }),
    inFlightPerWebhook: integer({
      default: 4,
      min: 1,
      max: 64,
      about: 'How many deliveries to one webhook may be under way at a time.',
    }),
    inFlight: integer({
      default: 64,
      min: 1,
      max: 4096,
      about: 'How many deliveries to all webhooks one process may have under way at a time.',
    }),
  },
  ...channels,
} as const

/** The values of a (part of a) schema: a key becomes what it reads, a section an object; nothing can be written to. */
export type Values<S> = S extends Key<infer T> ? T : { readonly [name in keyof S]: Values<S[name]> }

/** The configuration of one process. Frozen, complete and within bounds. */
export type Config = Values<typeof schema>

/** Some of the configuration, such as what a command line says. */
export type PartialConfig = PartialValues<typeof schema>
type PartialValues<S> = S extends Key<infer T> ? T : { readonly [name in keyof S]?: PartialValues<S[name]> }

/** A section of the schema, seen as data. */
export interface ConfigSection {
  readonly [name: string]: Key<unknown> | ConfigSection
}

/** The whole schema, seen as data. */
export const root: ConfigSection = schema

export const isKey = (entry: Key<unknown> | ConfigSection): entry is Key<unknown> => typeof entry.about === 'string'

/** Every key with its dotted path, in the order of the table. */
export function allKeys(
  section: ConfigSection = root,
  path = '',
): readonly (readonly [path: string, key: Key<unknown>])[] {
  return Object.entries(section).flatMap(([name, entry]) => {
    const entryPath = path === '' ? name : `${path}.${name}`
    return isKey(entry) ? [[entryPath, entry] as const] : allKeys(entry, entryPath)
  })
}

/** The environment variable of a key: `server.trustedProxies` is `SLUICE_SERVER_TRUSTED_PROXIES`. */
export const environmentName = (path: string): string =>
  `SLUICE_${path
    .replaceAll('.', '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()}`
