import { describe, expect, it, test } from 'vitest'
import { applyPatch, rulesOf } from '../../../src/core/tokens/patch.ts'
import { readTokenUpdate } from '../../../src/core/tokens/update.ts'
import type { Token } from '../../../src/core/tokens/types.ts'
import { aToken, error, value } from './samples.ts'

const apply = (token: Token, body: object) => applyPatch(token, value(readTokenUpdate(token.kind, body)))
const exact = (streamName: string) => ({ streamName, isRegex: false })

describe('merging', () => {
  it('changes the named fields and nothing else', () => {
    const token = aToken({ allowedOrigins: ['a.com'], priority: 3 })
    const merged = value(apply(token, { label: 'New' }))
    expect(merged).toEqual({
      rules: { ...rulesOf(token), label: 'New' },
      restreamKeys: null,
      refreshToken: false,
      rebind: { kind: 'keep' },
    })
  })

  it('copies only rules into the rules, whatever else is stored', () => {
    const stored = { ...aToken(), valueSealed: new Uint8Array(3) }
    expect(Object.keys(rulesOf(stored))).toHaveLength(26)
    expect(rulesOf(stored)).not.toHaveProperty('valueSealed')
  })

  it('clears priority with null and keeps it when it is absent', () => {
    expect(value(apply(aToken({ priority: 3 }), { priority: null })).rules.priority).toBeNull()
    expect(value(apply(aToken({ priority: 3 }), { label: 'x' })).rules.priority).toBe(3)
  })

  it('does not modify the stored token', () => {
    const token = aToken()
    const before = structuredClone(token)
    apply(token, { addTokenStreams: [exact('b')], removeTokenStreams: ['studio'], allowedOrigins: ['x.com'] })
    expect(token).toEqual(before)
  })
})

describe('streams', () => {
  const token = aToken({ streams: [exact('a'), exact('b')] })

  it('removes first, then adds: an entry can change its kind in one body', () => {
    const merged = value(
      apply(token, { removeTokenStreams: ['a'], addTokenStreams: [{ streamName: 'a', isRegex: true }] }),
    )
    expect(merged.rules.streams).toEqual([exact('b'), { streamName: 'a', isRegex: true }])
  })

  it('refuses a pattern that is too much beside the stored ones, and changes without one never', () => {
    const costly = Array.from({ length: 60 }, (_, n) => ({ streamName: `(.*a|.*b|.*c){20}.{40}${n}`, isRegex: true }))
    const full = aToken({ streams: costly })
    expect(apply(full, { addTokenStreams: [exact('b')] }).ok).toBe(true)
    const added = [6, 7].map((n) => ({ streamName: `(.*a|.*b|.*c){20}.{40}x${n}`, isRegex: true }))
    expect(error(apply(full, { addTokenStreams: added }))).toEqual({
      addTokenStreams: [expect.stringContaining('more than 20000 steps together')],
    })
  })

  it('can replace all of them', () => {
    const merged = value(apply(token, { removeTokenStreams: ['a', 'b'], addTokenStreams: [exact('c')] }))
    expect(merged.rules.streams).toEqual([exact('c')])
  })

  test.each([
    [{ removeTokenStreams: ['b', 'zz'] }, 'removeTokenStreams[1]'],
    [{ addTokenStreams: [exact('c'), exact('a')] }, 'addTokenStreams[1].streamName'],
    [{ addTokenStreams: [{ streamName: 'a', isRegex: true }] }, 'addTokenStreams[0].streamName'],
    [{ removeTokenStreams: ['a', 'b'] }, 'removeTokenStreams'],
  ])('%j is refused at %s', (body, path) => {
    expect(Object.keys(error(apply(token, body)))).toEqual([path])
  })

  it('counts them after the merge', () => {
    const many = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => exact(`${prefix}${i}`))
    const full = aToken({ streams: many(1000, 's') })
    expect(Object.keys(error(apply(full, { addTokenStreams: [exact('one-more')] })))).toEqual(['addTokenStreams'])
    expect(apply(full, { addTokenStreams: [exact('one-more')], removeTokenStreams: ['s0'] }).ok).toBe(true)
  })
})

describe('countries', () => {
  it('explains how to change from one list to the other', () => {
    const denying = aToken({ deniedCountries: ['US'] })
    expect(error(apply(denying, { allowedCountries: ['NL'] }))['allowedCountries']?.[0]).toContain(
      'deniedCountries: []',
    )
    const allowing = aToken({ allowedCountries: ['US'] })
    expect(error(apply(allowing, { deniedCountries: ['NL'] }))['deniedCountries']?.[0]).toContain(
      'allowedCountries: []',
    )
  })

  it('changes to one list when the other is cleared in the same body', () => {
    const merged = value(apply(aToken({ deniedCountries: ['US'] }), { allowedCountries: ['NL'], deniedCountries: [] }))
    expect(merged.rules).toMatchObject({ allowedCountries: ['NL'], deniedCountries: [] })
  })

  it('may clear an empty list', () => {
    expect(apply(aToken({ deniedCountries: ['US'] }), { allowedCountries: [] }).ok).toBe(true)
  })
})

describe('bound addresses', () => {
  test.each([
    [5, { bindIpsOnUsage: 0 }, { kind: 'clear' }],
    [0, { bindIpsOnUsage: 0 }, { kind: 'clear' }],
    [5, { bindIpsOnUsage: 2 }, { kind: 'earliest', count: 2 }],
    [5, { bindIpsOnUsage: 5 }, { kind: 'keep' }],
    [5, { bindIpsOnUsage: 9 }, { kind: 'keep' }],
    [0, { bindIpsOnUsage: 9 }, { kind: 'users', count: 9 }],
    [5, { label: 'x' }, { kind: 'keep' }],
  ])('stored %d, sent %j: %j', (bindIpsOnUsage, body, rebind) => {
    expect(value(apply(aToken({ bindIpsOnUsage }), body)).rebind).toEqual(rebind)
  })
})
