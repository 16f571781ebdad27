import { describe, expect, it } from 'vitest'
import { streamLimit, tokenLimits, viewersStep } from '../../../src/core/access/viewerLimits.ts'
import type { Credential, SelfSignedClaims, TokenSnapshot } from '../../../src/core/access/types.ts'

const token = (maxViewers: number) => ({ id: 7, maxViewers }) as TokenSnapshot
const child = (maxViewers: number, claims: Partial<SelfSignedClaims>) =>
  ({ kind: 'selfSigned', token: token(maxViewers), claims }) as Credential

describe('the limits of what a viewer presents', () => {
  const ofToken = { holder: 'token/7', of: 'token', most: 3 }
  const ofTracking = { holder: 'tracking/7/a/b', of: 'trackingId', most: 2 }

  it('are that of its token, and that of its tracking id beside it', () => {
    expect(tokenLimits({ kind: 'token', token: token(3) })).toEqual([ofToken])
    expect(tokenLimits(child(3, { maxViewers: 2, trackingId: 'a/b' }))).toEqual([ofToken, ofTracking])
    expect(tokenLimits(child(3, { maxViewers: 0, trackingId: 'a/b' }))).toEqual([ofToken])
    expect(tokenLimits(child(0, { maxViewers: 2, trackingId: 'a/b' }))).toEqual([ofTracking])
  })

  it('are none without a limit, and without a token', () => {
    expect(tokenLimits({ kind: 'token', token: token(0) })).toEqual([])
    expect(tokenLimits(child(0, { maxViewers: 0, trackingId: null }))).toEqual([])
    expect(tokenLimits({ kind: 'none' })).toEqual([])
  })
})

it('a stream has the smallest limit of the tokens that publish it', () => {
  expect(streamLimit('a', 'show', [])).toBeNull()
  expect(streamLimit('a', 'show', [0, 0])).toBeNull()
  expect(streamLimit('a', 'show', [5, 1])?.most).toBe(1)
  expect(streamLimit('a', 'show', [0, 9, 4])).toEqual({ holder: 'stream/a/show', of: 'stream', most: 4 })
})

it('the trace names the limits that are reached, or all of them', () => {
  const [ofToken, ofStream] = [tokenLimits({ kind: 'token', token: token(3) })[0], streamLimit('a', 'show', [9])]
  if (!ofToken || !ofStream) throw new Error('no limit')
  const step = (viewers: number) =>
    viewersStep([
      { limit: ofToken, viewers },
      { limit: ofStream, viewers: 5 },
    ])
  expect(step(2)).toEqual({
    check: 'viewers',
    outcome: 'pass',
    detail: 'now there are 2 of 3 viewers with the token, 5 of 9 viewers of the stream',
  })
  for (const viewers of [3, 4])
    expect(step(viewers)).toEqual({
      check: 'viewers',
      outcome: 'fail',
      detail: `now there are ${viewers} of 3 viewers with the token`,
    })
})
