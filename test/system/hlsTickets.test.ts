import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { hmacKey } from '../../src/base/crypto.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Grant } from '../../src/core/channels/playback.ts'
import { type GrantTicket, Tickets } from '../../src/edge/http/media/tickets.ts'

const clock = new ManualClock()
const key = hmacKey(randomBytes(32))
const HERE = { region: '', nodeUrl: 'https://one.example' }
const newTickets = () => new Tickets(hmacKey(randomBytes(32)), clock, HERE)
const tickets = new Tickets(key, clock, HERE)
const session = timeOrderedId(Date.now(), systemRandom)
const facts = { kind: 'session', sessionId: session, stream: 'f1', tokenId: 4711, request: 'c2VhbGVk' } as const

test('a ticket says whom it is for, opens one stream, and is the same whenever it is made', () => {
  for (const tokenId of [null, 1, 4711, Number.MAX_SAFE_INTEGER]) {
    const ticket = tickets.make({ ...facts, tokenId })
    for (let times = 0; times < 2; times++) {
      expect(tickets.read(ticket, 'f1')).toEqual({ ...facts, tokenId })
      expect(tickets.read(ticket, 'f2')).toBeNull()
    }
    expect(newTickets().read(ticket, 'f1')).toBeNull()
    expect(tickets.make({ ...facts, tokenId })).toBe(ticket)
  }
})

const granted: GrantTicket = {
  kind: 'grant',
  viewerId: session,
  stream: 'f1',
  grant: { keyId: 'ke_1', untilMs: 1_800_000_000_000, trackingId: 'ü.1', countries: ['DE', 'NZ'], devices: ['tv'] },
}
const unlimited = { keyId: null, untilMs: null, trackingId: null, countries: null, devices: null }

test('the ticket of a distribution carries the whole grant, and opens this distribution alone', () => {
  const nothing = { ...unlimited, countries: [], devices: [] }
  for (const grant of [granted.grant, unlimited, nothing]) {
    const ticket = tickets.make({ ...granted, grant })
    for (let times = 0; times < 2; times++) {
      const read = tickets.read(ticket, 'f1')
      expect(read).toMatchObject({ kind: 'grant', viewerId: session })
      expect(read?.kind === 'grant' && admitsTheSame(read.grant, grant)).toBe(true)
      expect(tickets.read(ticket, 'f2')).toBeNull()
    }
    expect(newTickets().read(ticket, 'f1')).toBeNull()
  }
})

/** An empty list admits no viewer, and neither does one that holds no code of a country or device. */
const admitsTheSame = (a: Grant, b: Grant): boolean => {
  const known = ({ countries, devices, ...others }: Grant) => ({
    ...others,
    countries: countries?.filter((code) => /^[A-Z]{2}$/.test(code)) ?? null,
    devices: devices?.filter((device) => device.length > 1) ?? null,
  })
  return isDeepStrictEqual(known(a), known(b))
}

test.each([facts, granted])('any changed character makes it invalid: $kind', (told) => {
  const ticket = tickets.make(told)
  fc.assert(
    fc.property(fc.nat(ticket.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
      fc.pre(ticket[at] !== character)
      // The last character of the signature has four unused bits, so the signature is compared as text.
      expect(tickets.read(ticket.slice(0, at) + character + ticket.slice(at + 1), 'f1')).toBeNull()
    }),
  )
})

test('any other input is refused without an error', () => {
  fc.assert(fc.property(fc.anything(), (ticket) => tickets.read(ticket, 'f1') === null))
})

test('the ticket of a node opens one file of a stream, at the node that it is for, for two minutes, and names the region of its node', () => {
  for (const region of ['', 'eu-west']) {
    const other = new Tickets(key, clock, { region, nodeUrl: 'https://two.example' })
    const file = { stream: 'f1', name: 'original/7.m4s' }
    const ticket = other.forNode('https://one.example', file)
    // What listens at the address of a node that is gone has it, too.
    expect(other.regionOfNode(ticket, file)).toBe(null)
    expect(tickets.regionOfNode(ticket, file)).toBe(region)
    // A stranger who sees it without TLS has seen this file, and gets no other with it.
    for (const other of [
      { ...file, stream: 'f2' },
      { ...file, name: 'original/8.m4s' },
    ])
      expect(tickets.regionOfNode(ticket, other)).toBe(null)
    expect(newTickets().regionOfNode(ticket, file)).toBe(null)
    expect(tickets.regionOfNode(ticket.replace(/\d+/, '9999999999999'), file)).toBe(null)
    expect(tickets.regionOfNode(ticket.replace(/^node\.(\d+)(\.eu-west)?/, 'node.$1.us-east'), file)).toBe(null)
    expect(tickets.read(ticket, 'f1')).toBeNull()
    clock.advance(120_001)
    expect(tickets.regionOfNode(ticket, file)).toBe(null)
  }
  expect(tickets.regionOfNode(tickets.make(facts), { stream: 'f1', name: 'index.m3u8' })).toBe(null)
})
