import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { hmacKey } from '../../src/base/crypto.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Tickets } from '../../src/edge/http/media/tickets.ts'

const clock = new ManualClock()
const newTickets = () => new Tickets(hmacKey(randomBytes(32)), clock)
const tickets = newTickets()
const session = timeOrderedId(Date.now(), systemRandom)
const facts = { sessionId: session, stream: 'f1', tokenId: 4711, request: 'c2VhbGVk' }

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

test('any changed character makes it invalid', () => {
  const ticket = tickets.make(facts)
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

test('the ticket of a node opens one stream, at every node, for two minutes', () => {
  const ticket = tickets.forNode('f1')
  expect([tickets.isOfNode(ticket, 'f1'), tickets.isOfNode(ticket, 'f2')]).toEqual([true, false])
  expect(newTickets().isOfNode(ticket, 'f1')).toBe(false)
  expect(tickets.isOfNode(ticket.replace(/\d+/, '9999999999999'), 'f1')).toBe(false)
  expect(tickets.read(ticket, 'f1')).toBeNull()
  expect(tickets.isOfNode(tickets.make(facts), 'f1')).toBe(false)
  clock.advance(120_001)
  expect(tickets.isOfNode(ticket, 'f1')).toBe(false)
})
