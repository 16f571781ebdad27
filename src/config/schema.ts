import { access } from './access.ts'
import { analytics } from './analytics.ts'
import { channels } from './channels.ts'
import { packaging } from './packaging.ts'
import { choice, integer, type Key, list, text, toggle } from './keys.ts'
import {
  addressOrNetwork,
  addressOrName,
  addressOrNothing,
  base64Of32Bytes,
  headerSecret,
  hostToListenOn,
  iceServer,
  notEmpty,
  storageUrlRule,
  withoutCredential,
} from './rules.ts'
import { server } from './server.ts'
import { sessions } from './sessions.ts'
import { srt } from './srt.ts'
import { tls } from './tls.ts'
import { webhooks } from './webhooks.ts'

/**
 * Every configuration key, once: its type, default, bounds and one sentence. The loader, `config.default.yaml` and
 * `docs/reference/configuration.md` all use this table. After a change run `node scripts/generate.ts`.
 */
const schema = {
  ...server,
  ...tls,
  storage: {
    url: text({
      default: '',
      secret: true,
      allowed: 'empty, a file path, or postgres://user:password@host:port,host:port/database',
      rule: storageUrlRule,
      about:
        'The database; empty means SQLite in `<data.dir>/sluice.db`. Of several PostgreSQL hosts the one that takes writes is used.',
    }),
    poolSize: integer({
      default: 10,
      min: 1,
      max: 500,
      about: 'The most connections in the PostgreSQL pool of one process; a server opens two more outside the pool.',
    }),
    migrationCopies: integer({
      default: 2,
      min: 0,
      max: 20,
      about:
        'The most backups that Sluice keeps of a SQLite database from before a new version migrated it; 0 makes none.',
    }),
  },
  data: {
    dir: text({
      default: './data',
      allowed: 'a path',
      rule: notEmpty,
      about:
        'The directory for all files of Sluice, relative to the working directory; Sluice creates it if it is missing.',
    }),
  },
  secrets: {
    sealingKey: text({
      default: '',
      secret: true,
      allowed: 'empty, or the base64 of 32 bytes',
      rule: base64Of32Bytes,
      about:
        'The key that seals token values; empty means the file `<data.dir>/sealing.key`, which Sluice creates at first start.',
    }),
    previousSealingKey: text({
      default: '',
      secret: true,
      allowed: 'empty, or the base64 of 32 bytes',
      rule: base64Of32Bytes,
      about: 'A second key that opens values and seals none, for a rotation; only together with `secrets.sealingKey`.',
    }),
  },
  geoip: {
    database: text({
      live: true,
      default: '',
      allowed: 'empty, or the path of an MMDB file',
      about: 'The country database for country rules; without one the country of every address is unknown.',
    }),
  },
  rtmp: {
    enabled: toggle({
      default: true,
      about: 'Lets publishers connect over RTMP.',
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
    tlsPort: integer({
      default: 0,
      min: 0,
      max: 65_535,
      about: 'The TCP port for RTMPS, usually 1936, with the certificate of `tls`; 0 means none.',
    }),
    maxConnections: integer({
      live: true,
      default: 1000,
      min: 1,
      max: 100_000,
      about: 'The most open RTMP connections; new ones replace those that do not publish yet.',
    }),
    maxMessageBytes: integer({
      live: true,
      default: 8_388_608,
      min: 65_536,
      max: 16_777_215,
      about: 'The largest RTMP message, in bytes; one video frame must fit into it.',
    }),
    handshakeSeconds: integer({
      live: true,
      default: 10,
      min: 1,
      max: 300,
      about: 'The most time between the connection of a publisher and its publish command, in seconds.',
    }),
    idleSeconds: integer({
      live: true,
      default: 10,
      min: 1,
      max: 300,
      about: 'How long a publisher may send neither video nor audio before Sluice disconnects it, in seconds.',
    }),
    transcodeBFrames: toggle({
      live: true,
      default: true,
      about:
        'Re-encodes video for WebRTC while this machine has room: with B-frames for all, and of other codecs than H.264 for ' +
        'viewers without them.',
    }),
    ipFilters: choice(['refuse', 'enforce'], {
      live: true,
      default: 'refuse',
      about: 'How RTMP treats a token with address rules: `refuse` it, or `enforce` the rules on the peer address.',
    }),
  },
  ...srt,
  ...packaging,
  media: {
    allowedNetworks: list({
      live: true,
      default: [],
      allowed: 'IPv4 or IPv6 addresses and networks, such as 10.0.0.0/8',
      rule: addressOrNetwork,
      about:
        'Private networks in which publish tokens may have targets of `restream`, and pulls their sources; public ones are always allowed.',
    }),
  },
  webrtc: {
    host: text({
      default: '',
      allowed: 'empty, or an IPv4 or IPv6 address',
      rule: addressOrNothing,
      about: 'The address on which Sluice receives media; empty means all IPv4 and IPv6 addresses of this machine.',
    }),
    port: integer({
      default: 8081,
      min: 0,
      max: 65_535,
      about:
        'The UDP and TCP port of the first media process; the others use the ports after it. 0 takes any free ports.',
    }),
    processes: integer({
      default: 0,
      min: 0,
      max: 64,
      about: 'The number of media processes; 0 means one less than the number of cores, and at least one.',
    }),
    publicAddresses: list({
      live: true,
      default: [],
      allowed: 'IPv4 or IPv6 addresses, or host names',
      rule: addressOrName,
      about:
        'The media addresses that Sluice announces, instead of those of this machine. Names are resolved again every minute.',
    }),
    maxBitrateKilobits: integer({
      default: 8000,
      min: 100,
      max: 1_000_000,
      about: 'The maximum bit rate that Sluice requests from a publisher, in kilobits per second.',
    }),
    publisherTimeoutSeconds: integer({
      default: 15,
      min: 5,
      max: 30,
      about:
        'How long a broadcast continues without media from its publisher, in seconds, so that the publisher can recover from a network outage.',
    }),
    iceServers: list({
      live: true,
      default: [],
      allowed: 'stun:HOST:PORT, or turn:HOST:PORT?transport=udp followed by a user name and a credential',
      rule: iceServer,
      mask: withoutCredential,
      about:
        'The STUN and TURN servers that Sluice announces to publishers and viewers; needed only behind strict firewalls.',
    }),
    pendingOffers: integer({
      live: true,
      default: 256,
      min: 1,
      max: 4096,
      about: 'The most WHIP and WHEP offers in progress; Sluice asks clients with further ones to retry.',
    }),
  },
  ...access,
  audit: {
    retentionDays: integer({
      live: true,
      default: 365,
      min: 1,
      max: 36_500,
      about: 'How long the audit log is kept, in days.',
    }),
  },
  log: {
    level: choice(['debug', 'info', 'warn', 'error'], {
      live: true,
      default: 'info',
      about: 'The lowest level of messages that Sluice logs.',
    }),
    format: choice(['json', 'pretty'], {
      default: 'json',
      about: 'The form of a log line: `json`, one object per line for programs, or `pretty`, plain text for people.',
    }),
  },
  metrics: {
    secret: text({
      live: true,
      default: '',
      secret: true,
      allowed: 'empty, or 16 or more visible ASCII characters',
      rule: headerSecret,
      about:
        'The secret with which other machines read `/metrics`, as `Authorization: Bearer`; empty means that none may. This machine needs none.',
    }),
  },
  bindings: {
    flushSeconds: integer({
      default: 5,
      min: 1,
      max: 300,
      about: 'How often Sluice writes the last use of tokens and of bound addresses to the store, in seconds.',
    }),
  },
  ...sessions,
  ...analytics,
  ...webhooks,
  ...channels,
} as const

/** The values of a schema or a part of it: each key becomes its value, each section an object. All are read-only. */
export type Values<S> = S extends Key<infer T> ? T : { readonly [name in keyof S]: Values<S[name]> }

/** The configuration of one process. Frozen, complete and within bounds. */
export type Config = Values<typeof schema>

/** A part of the configuration, such as the settings of a command line. */
export type PartialConfig = PartialValues<typeof schema>
type PartialValues<S> = S extends Key<infer T> ? T : { readonly [name in keyof S]?: PartialValues<S[name]> }

/** A section of the schema as data. */
export interface ConfigSection {
  readonly [name: string]: Key<unknown> | ConfigSection
}

/** The whole schema as data. */
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
