import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../../base/crypto.ts'
import { viewerKey } from '../../base/viewerKey.ts'
import type { Device } from '../../core/channels/device.ts'
import { compilePlayback, type Grant, type PlaybackRules } from '../../core/channels/playback.ts'
import type { Context, ChannelChange } from '../context.ts'
import { openKey } from './distributionKey.ts'
import { isId } from './shared.ts'

/** The longest delay until this node sees a change by another process. */
const FRESH_MS = 1000
const RULES_MAX = 10_000

interface CachedPlayback {
  readonly rules: Promise<PlaybackRules | null>
  /** The result of `rules`, once it is there. */
  value?: PlaybackRules | null
  readonly atMs: number
}

/** Caches the rules of distributions in use, so that a segment needs no query. */
export class Playbacks {
  readonly #ctx: Context
  readonly #cached = new Map<string, CachedPlayback>()

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** The result of `find` if it is in memory, else undefined. */
  peek(id: string): PlaybackRules | null | undefined {
    const cached = this.#cached.get(id)
    return cached && this.#ctx.clock.monotonic() - cached.atMs < FRESH_MS ? cached.value : undefined
  }

  /** Null: no such distribution. */
  find(id: string): Promise<PlaybackRules | null> {
    const nowMs = this.#ctx.clock.monotonic()
    const cached = this.#cached.get(id)
    if (cached && nowMs - cached.atMs < FRESH_MS) return cached.rules
    if (this.#cached.size >= RULES_MAX) this.#cached.clear()
    const rules = isId(id) ? this.#load(id) : Promise.resolve(null)
    const entry: CachedPlayback = { rules, atMs: nowMs }
    this.#cached.set(id, entry)
    rules.then(
      (found) => {
        entry.value = found
      },
      () => {
        if (this.#cached.get(id) === entry) this.#cached.delete(id)
      },
    )
    return rules
  }

  /** Call it after a committed change at this node. */
  forget({ kind, id }: ChannelChange): void {
    if (kind === 'distribution') this.#cached.delete(id)
    else this.#cached.clear()
  }

  async #load(id: string): Promise<PlaybackRules | null> {
    const { store } = this.#ctx
    const distribution = await store.read.distributions.find(id)
    if (!distribution) return null
    const engines = await store.read.engines.ofChannel(distribution.channelId)
    const keys = (await store.read.distributionKeys.list(id)).map((stored) => {
      const key = viewerKey(openKey(this.#ctx, stored))
      return {
        id: stored.id,
        verify: ({ alg, signingInput, signature }: Parameters<PlaybackRules['keys'][number]['verify']>[0]) =>
          key.verify(alg, signingInput, signature),
      }
    })
    return compilePlayback(distribution, engines, keys)
  }
}

/**
 * What a playlist ticket opens: the playlists of all renditions. The ticket of a segment opens the segment with its
 * name.
 */
export const PLAYLIST_TICKET = 'playlists'

const MAC_BYTES = 16
/** Room for a tracking id of 128 characters and all countries that a token may name. */
const TICKET_MAX = 2304
/** Cached tickets; each takes at most 2.5 kB. */
const TICKETS_MAX = 2000

/**
 * Signs the URLs in playlists for players and caches that cannot send a header. A ticket carries the whole grant of its
 * token. It holds no secret, and its signature prevents changes.
 *
 * It is the same in every playlist: a URL must not change (RFC 8216 section 6.2.1), and players fetch again what has a
 * new one.
 */
export class PlaybackTickets {
  readonly #key: KeyObject
  /** Tickets with a checked signature: the check costs as much as the rest of an answer. */
  readonly #cached = new Map<string, Grant>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  make(opens: string, distributionId: string, grant: Grant): string {
    const body = writeGrant(grant)
    return `${body}.${this.#mac(opens, distributionId, body)}`
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
    const cached = this.#cached.get(name)
    if (cached !== undefined) return cached
    const end = ticket.lastIndexOf('.')
    const body = ticket.slice(0, end)
    if (end < 0 || !constantTimeEqual(ticket.slice(end + 1), this.#mac(opens, distributionId, body))) return null
    const grant = readGrant(body)
    if (this.#cached.size >= TICKETS_MAX) this.#cached.clear()
    this.#cached.set(name, grant)
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
