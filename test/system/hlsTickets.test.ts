import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hmacKey } from '../../src/base/crypto.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Tickets } from '../../src/edge/http/media/tickets.ts'

const tickets = new Tickets(hmacKey(randomBytes(32)))
const session = timeOrderedId(Date.now(), systemRandom)
const scope = { opens: 's17.m4s', feedId: 'f1' } as const

test('a ticket opens only what it was made for, and is the same whenever it is made', () => {
  for (const opens of ['playlist', 'init', 's17.m4s', 'p17.m4s'] as const) {
    const ticket = tickets.make(session, { ...scope, opens })
    for (const asked of ['playlist', 'init', 's17.m4s', 'p17.m4s', 's18.m4s'] as const)
      expect(tickets.read(ticket, { ...scope, opens: asked })).toBe(asked === opens ? session : null)
    expect(tickets.read(ticket, { opens, feedId: 'f2' })).toBeNull()
    expect(new Tickets(hmacKey(randomBytes(32))).read(ticket, { ...scope, opens })).toBeNull()
    expect(tickets.make(session, { ...scope, opens })).toBe(ticket)
  }
})

test('the cached tickets of a session are bounded', () => {
  const holder = { sessionId: session, feedId: 'f1', tickets: new Map() }
  for (let n = 0; n < 1000; n++) {
    const opens = `s${n}.m4s` as const
    expect(tickets.of(holder, opens)).toBe(tickets.make(session, { opens, feedId: 'f1' }))
    expect(tickets.of(holder, opens)).toBe(tickets.make(session, { opens, feedId: 'f1' }))
  }
  expect(holder.tickets.size).toBeLessThanOrEqual(128)
})

test('any changed character makes it invalid', () => {
  const ticket = tickets.make(session, scope)
  fc.assert(
    fc.property(fc.nat(ticket.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
      fc.pre(ticket[at] !== character)
      // The last character of the signature has four unused bits, so the signature is compared as text.
      expect(tickets.read(ticket.slice(0, at) + character + ticket.slice(at + 1), scope)).toBeNull()
    }),
  )
})

test('any other input is refused without an error', () => {
  fc.assert(fc.property(fc.anything(), (ticket) => tickets.read(ticket, scope) === null))
})
