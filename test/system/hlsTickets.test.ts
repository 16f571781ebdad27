import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hmacKey } from '../../src/base/crypto.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Tickets } from '../../src/edge/http/hls/tickets.ts'

const NOW = 1_800_000_000_000
const tickets = new Tickets(hmacKey(randomBytes(32)))
const session = timeOrderedId(NOW, systemRandom)
const scope = { kind: 'media', feedId: 'f1' } as const

test('a ticket opens what it was made for, until its time is over', () => {
  const ticket = tickets.make(session, scope, NOW + 60_000)
  expect(tickets.read(ticket, scope, NOW)).toBe(session)
  expect(tickets.read(ticket, scope, NOW + 59_999)).toBe(session)
  expect(tickets.read(ticket, scope, NOW + 60_000)).toBeNull()
  expect(tickets.read(ticket, { ...scope, feedId: 'f2' }, NOW)).toBeNull()
  expect(tickets.read(ticket, { ...scope, kind: 'playlist' }, NOW)).toBeNull()
  expect(new Tickets(hmacKey(randomBytes(32))).read(ticket, scope, NOW)).toBeNull()
  expect(tickets.read(tickets.make(session, scope, 0), scope, NOW * 2)).toBe(session)
})

test('any change of any character makes it worthless', () => {
  const ticket = tickets.make(session, scope, NOW + 60_000)
  fc.assert(
    fc.property(fc.nat(ticket.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
      fc.pre(ticket[at] !== character)
      // The last character of the signature has four bits that say nothing, so it is compared as text.
      expect(tickets.read(ticket.slice(0, at) + character + ticket.slice(at + 1), scope, NOW)).toBeNull()
    }),
  )
})

test('whatever is sent as a ticket, it is refused in peace', () => {
  fc.assert(fc.property(fc.anything(), (ticket) => tickets.read(ticket, scope, NOW) === null))
})
