import { createHash } from 'node:crypto'
import type { Random } from '../../base/random.ts'

/** As an address has them, decoded. */
export interface RtspUser {
  readonly user: string
  readonly password: string
}

type Challenge = { readonly scheme: string } & ReadonlyMap<string, string>

/** Of Digest (RFC 7616 section 3.3), the better one first. */
const HASHES: Readonly<Record<string, string>> = { 'SHA-256': 'sha256', MD5: 'md5' }
/** For one request: a server that finds each of its own challenges too old would have us try for ever. */
const STALE_MAX = 3

/** Answers the challenges of a server: Basic (RFC 7617) and Digest (RFC 7616), which RTSP has from HTTP. */
export class RtspLogin {
  readonly #login: RtspUser | null
  readonly #random: Random
  #challenge: Challenge | null = null
  #stale = 0
  /** How often the nonce at hand was used. */
  #uses = 0

  constructor(login: RtspUser | null, random: Random) {
    this.#login = login
    this.#random = random
  }

  /** Takes the challenges of a 401, one a line. False: another attempt would be refused too. */
  take(challenges: string): boolean {
    const found = best(challenges.split('\n').map(readChallenge))
    if (this.#login === null || found === undefined) return false
    const isStale = found.get('stale')?.toLowerCase() === 'true' && ++this.#stale <= STALE_MAX
    if (this.#challenge !== null && !isStale) return false
    this.#challenge = found
    this.#uses = 0
    return true
  }

  /** The server has taken a request. Its challenges may get old again, as those do that are for some minutes. */
  taken(): void {
    this.#stale = 0
  }

  /** The header of a request; null: the server has not asked for it. */
  header(method: string, uri: string): string | null {
    const [login, challenge] = [this.#login, this.#challenge]
    if (login === null || challenge === null) return null
    const { user, password } = login
    if (challenge.scheme === 'basic') return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    return this.#digest(challenge, login, `${method}:${uri}`)
  }

  #digest(challenge: Challenge, { user, password }: RtspUser, request: string): string {
    const [realm, nonce] = [challenge.get('realm') ?? '', challenge.get('nonce') ?? '']
    const name = challenge.get('algorithm') ?? 'MD5'
    const hash = (text: string): string =>
      createHash(HASHES[name.toUpperCase()] ?? 'md5')
        .update(text)
        .digest('hex')
    const [secret, on] = [hash(`${user}:${realm}:${password}`), hash(request)]
    const fields = { username: user, realm, nonce, uri: request.slice(request.indexOf(':') + 1) }
    const opaque = challenge.has('opaque') ? { opaque: challenge.get('opaque') ?? '' } : {}
    const given = { ...fields, ...opaque, ...(challenge.has('algorithm') ? { algorithm: name } : {}) }
    if (!challenge.has('qop')) return written({ ...given, response: hash(`${secret}:${nonce}:${on}`) })
    const [nc, cnonce] = [(++this.#uses).toString(16).padStart(8, '0'), this.#random.bytes(8).toString('hex')]
    const response = hash(`${secret}:${nonce}:${nc}:${cnonce}:auth:${on}`)
    return written({ ...given, qop: 'auth', nc, cnonce, response })
  }
}

/** These stand without quotes (RFC 7616 section 3.4). */
const BARE = new Set(['qop', 'nc', 'algorithm'])

const written = (fields: Readonly<Record<string, string>>): string =>
  `Digest ${Object.entries(fields)
    .map(([name, value]) => `${name}=${BARE.has(name) ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`}`)
    .join(', ')}`

function readChallenge(line: string): Challenge {
  const scheme = /^\s*(\w+)/.exec(line)?.[1]?.toLowerCase() ?? ''
  const pairs = [...line.matchAll(/(?<![\w-])([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g)]
  const fields = pairs.map(
    ([, name = '', quoted, bare]) => [name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? ''] as const,
  )
  return Object.assign(new Map(fields), { scheme })
}

/** One of those that we can answer. */
function best(challenges: readonly Challenge[]): Challenge | undefined {
  const digests = challenges.filter(
    (one) => one.scheme === 'digest' && (one.get('qop') ?? 'auth').split(/[ ,]+/).includes('auth'),
  )
  const byHash = Object.keys(HASHES).map((hash) =>
    digests.find((one) => (one.get('algorithm') ?? 'MD5').toUpperCase() === hash),
  )
  return byHash.find((one) => one !== undefined) ?? challenges.find(({ scheme }) => scheme === 'basic')
}
