import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ControlChannel } from '../../../src/media/relay/link/controlChannel.ts'
import type { LinkMessage, LinkTrack } from '../../../src/media/relay/link/linkOffer.ts'
import { derivedLinkSecrets, linkSession } from '../../../src/media/relay/link/linkTransport.ts'
import { messageOf, secretsOfLink, textOf } from '../../../src/media/relay/link/nodeMessages.ts'
import { cases } from '../../support/randomCases.ts'

const KEY = Buffer.alloc(32, 5)
const ROOM = 'a/show'

/** What the other end reads of a message that one end posts; null: it does not fit into a datagram. */
function carried(message: LinkMessage): LinkMessage | null {
  const sessionOf = (end: 'parent' | 'child') => linkSession(derivedLinkSecrets(KEY, 'control'), end, null)
  const sent: Buffer[] = []
  const from = new ControlChannel({ srtp: sessionOf('parent'), ssrc: 7, send: (sealed) => sent.push(sealed) })
  const to = new ControlChannel({ srtp: sessionOf('child'), ssrc: 7, send: () => undefined })
  from.post(textOf(message), 0)
  expect(from.isBroken).toBe(false)
  expect(sent[0]?.length).toBeLessThan(1232)
  const [text] = to.take(sent[0] ?? Buffer.alloc(0))?.messages ?? []
  return messageOf(text, { room: ROOM, key: KEY })
}

const ssrc = fc.integer({ min: 2 ** 31, max: 2 ** 32 - 1 })
/** As long as an SDP may have them: `readRids`. */
const rid = fc.string({
  unit: fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-')),
  minLength: 32,
  maxLength: 32,
})
/** As long as a publisher may have it: `core/sessions/publishing.ts`. */
const sourceId = fc.string({ unit: 'binary', minLength: 128, maxLength: 128 }).map((text) => text.slice(0, 128))
const id = fc.string({
  unit: fc.constantFrom(...Array.from('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')),
  minLength: 22,
  maxLength: 22,
})
const LAYERS = 8

const offer = fc
  .record({
    ssrcs: fc.uniqueArray(ssrc, { minLength: 2 * LAYERS + 2, maxLength: 2 * LAYERS + 2 }),
    rids: fc.uniqueArray(rid, { minLength: LAYERS, maxLength: LAYERS }),
    sourceId,
    sessionId: id,
    preferredTo: id,
  })
  .map(({ ssrcs, rids, ...about }): LinkMessage => {
    const tracks = ['', ...rids].map(
      (name, at): LinkTrack => ({
        ssrc: ssrcs[2 * at] ?? 0,
        rtxSsrc: ssrcs[2 * at + 1] ?? 0,
        shape:
          at === 0 ? { kind: 'audio', codec: 'opus', rate: 48_000 } : { kind: 'video', codec: 'h264', rate: 90_000 },
        rid: name,
        isAskable: at > 0,
      }),
    )
    const linkId = ssrcs[0] ?? 0
    const own = { kind: 'open', linkId, room: ROOM, profile: '64001f', priority: 1_000_000, tracks } as const
    return { ...own, ...about, secrets: secretsOfLink(KEY, linkId), port: 0 }
  })

test('the largest offer of a link that a publisher can cause fits into one datagram, and arrives as it was', () => {
  fc.assert(
    fc.property(offer, (message) => {
      expect(carried(message)).toEqual(message)
    }),
    cases(300),
  )
})

test('so does everything else that is said of as many layers', () => {
  const ssrcs = Array.from({ length: LAYERS + 1 }, (_, at) => 2 ** 32 - 1 - at * 7919)
  const sizes = ssrcs.map((_, at) => ({ width: 65_535 - 7919 * at, height: 65_000 - 6007 * at }))
  const others: LinkMessage[] = [
    { kind: 'want', linkId: 2 ** 32 - 1, isWatched: true, ssrcs },
    { kind: 'rates', linkId: 2 ** 32 - 1, bitrates: ssrcs, sizes, roundTripMs: 60_000 },
    { kind: 'close', linkId: 2 ** 32 - 1 },
    { kind: 'aside', room: ROOM, sessionId: 'x'.repeat(64), isAside: true },
  ]
  for (const message of others) expect(carried(message)).toEqual(message)
})

test('no text of another node is longer than 512 characters', () => {
  const aside = (length: number) => ({ kind: 'aside', sessionId: 'x'.repeat(length), isAside: true })
  const areRead = [512, 513].map((length) => messageOf(aside(length), { room: ROOM, key: KEY }) !== null)
  expect(areRead).toEqual([true, false])
})

test('a channel whose other end confirms nothing is of no use after 256 messages', () => {
  const srtp = linkSession(derivedLinkSecrets(KEY, 'control'), 'parent', null)
  const channel = new ControlChannel({ srtp, ssrc: 7, send: () => undefined })
  const isBroken = Array.from({ length: 257 }, () => {
    channel.post({}, 0)
    return channel.isBroken
  })
  expect(isBroken.indexOf(true)).toBe(256)
})
