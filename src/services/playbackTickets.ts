import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../base/crypto.ts'
import type { Device } from '../core/channels/device.ts'
import type { Grant, PlaybackRules } from '../core/channels/playback.ts'

const MAC_BYTES = 16
/** A tracking id of 128 characters and all countries that a token may name. */
const TICKET_MAX = 2304
/** At most 2.5 kB each. */
const KNOWN_MAX = 2000

/**
 * Signs the URLs in playlists, for players that send no header and for caches. A
 * ticket carries the whole grant of its token, contains no secret, and cannot be changed.
 *
 * A URL is the same in every playlist: RFC 8216 section 6.2.1 allows no change, and players fetch a segment with another
 * URL again.
 */
export class PlaybackTickets {
  readonly #key: KeyObject
  /** Tickets with a verified signature. Verification costs as much as the rest of an answer. */
  readonly #known = new Map<string, Grant>()
  /** Tickets that were made: a player loads a playlist of some thirty of them three times a second. */
  readonly #made = new Map<string, string>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  make(opens: string, distributionId: string, grant: Grant): string {
    const body = writeGrant(grant)
    const name = `${distributionId} ${opens} ${body}`
    const made = this.#made.get(name)
    if (made !== undefined) return made
    const ticket = `${body}.${this.#mac(opens, distributionId, body)}`
    if (this.#made.size >= KNOWN_MAX) this.#made.clear()
    this.#made.set(name, ticket)
    return ticket
  }

  /** Null: the ticket is forged, expired, for another distribution or segment, or its key was deleted. */
  read(ticket: unknown, opens: string, { distribution, keys }: PlaybackRules, nowMs: number): Grant | null {
    if (typeof ticket !== 'string' || ticket.length > TICKET_MAX) return null
    const grant = this.#genuine(ticket, opens, distribution.id)
    if (grant === null || (grant.untilMs !== null && nowMs >= grant.untilMs)) return null
    return keys.some(({ id }) => id === grant.keyId) ? grant : null
  }

  /** The grant in a genuine ticket, else null. All viewers with the same token send the same ticket. */
  #genuine(ticket: string, opens: string, distributionId: string): Grant | null {
    const name = `${distributionId} ${opens} ${ticket}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const end = ticket.lastIndexOf('.')
    const body = ticket.slice(0, end)
    if (end < 0 || !constantTimeEqual(ticket.slice(end + 1), this.#mac(opens, distributionId, body))) return null
    const grant = readGrant(body)
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(name, grant)
    return grant
  }

  #mac(opens: string, distributionId: string, body: string): string {
    const mac = hmacSha256(this.#key, JSON.stringify([opens, distributionId, body]))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}

/** Encodes a restriction that admits no viewer; an empty text encodes no restriction. */
const NOBODY = '-'
const DEVICES = new Map<string, Device>([
  ['d', 'desktop'],
  ['m', 'mobile'],
  ['t', 'tv'],
])

/** Omits invalid country and device codes, because they match no viewer. */
function writeGrant({ untilMs, keyId, trackingId, countries, devices }: Grant): string {
  const until = untilMs === null ? '' : Math.ceil(untilMs / 1000).toString(36)
  const tracking = Buffer.from(trackingId ?? '').toString('base64url')
  const codes = countries && [...new Set(countries)].filter((code) => /^[A-Z]{2}$/.test(code)).join('')
  const letters =
    devices && [...DEVICES].flatMap(([letter, device]) => (devices.includes(device) ? letter : [])).join('')
  const restrictions = [codes, letters].map((text) => (text === '' ? NOBODY : (text ?? '')))
  return [until, keyId ?? '', tracking, ...restrictions].join('.')
}

function readGrant(body: string): Grant {
  const [until = '', keyId = '', tracking = '', codes = '', letters = ''] = body.split('.')
  return {
    keyId,
    untilMs: until === '' ? null : Number.parseInt(until, 36) * 1000,
    trackingId: tracking === '' ? null : Buffer.from(tracking, 'base64url').toString(),
    countries: codes === '' ? null : (codes.match(/[A-Z]{2}/g) ?? []),
    devices: letters === '' ? null : Array.from(letters, (letter) => DEVICES.get(letter) ?? letter),
  }
}
