import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ActorIdentity, formatActor, parseActor } from '../../src/core/actor.ts'

const identities: fc.Arbitrary<ActorIdentity> = fc.oneof(
  fc.constant({ kind: 'cli' } as const),
  fc.record({ kind: fc.constantFrom('secret', 'credential', 'user'), id: fc.maxSafeNat() }),
)

it.each<[string, ActorIdentity]>([
  ['secret:1', { kind: 'secret', id: 1 }],
  ['credential:7', { kind: 'credential', id: 7 }],
  ['user:12', { kind: 'user', id: 12 }],
  ['cli', { kind: 'cli' }],
  ['retention', { kind: 'retention' }],
])('the stored form is that of earlier versions: %s', (text, identity) => {
  expect(formatActor(identity)).toBe(text)
  expect(parseActor(text)).toEqual(identity)
})

it('reads back every actor that it writes', () => {
  fc.assert(
    fc.property(identities, (actor) => {
      expect(parseActor(formatActor(actor))).toEqual(actor)
    }),
  )
})

const nearly = fc
  .tuple(fc.constantFrom('secret', 'credential', 'user', 'cli', 'job', 'Secret', ''), fc.constantFrom(':', '', ' '))
  .chain(([kind, colon]) => fc.oneof(fc.nat().map(String), fc.string()).map((rest) => kind + colon + rest))

it('reads nothing that it would not have written', () => {
  const texts = fc.oneof(fc.string(), nearly)
  fc.assert(
    fc.property(texts, (text) => {
      const actor = parseActor(text)
      expect(actor === null ? text : formatActor(actor)).toBe(text)
    }),
  )
  for (const text of [
    'secret:',
    'secret:01',
    'secret:-1',
    'secret:1 ',
    'cli:1',
    'job:sweep',
    'user:9007199254740993',
  ]) {
    expect(parseActor(text)).toBeNull()
  }
})
