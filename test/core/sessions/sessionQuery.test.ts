import { describe, expect, it } from 'vitest'
import { readReprioritize, readStreamQuery, readStreamStop } from '../../../src/core/sessions/sessionQuery.ts'

const stream = { accountId: 'a1', streamName: 'room/1' }

describe('a stream of a request', () => {
  it('is an account and a name, which may have slashes', () => {
    expect(readStreamStop({ streamId: 'a1/room/1' })).toEqual({ ok: true, value: stream })
    expect(readStreamQuery({ streamId: 'a1/room/1' })).toEqual({ ok: true, value: stream })
  })

  it.each([
    [null, { body: ['must be a JSON object with streamId'] }],
    [{}, { streamId: ['is required, as accountId/streamName'] }],
    [{ streamId: 'a1' }, { streamId: ['is required, as accountId/streamName'] }],
    [{ streamId: 'a1/..' }, { streamId: [expect.stringContaining('must not be . or ..')] }],
    [{ streamId: 'a1/x', y: 1 }, { y: ['is not a property of this request; allowed: streamId'] }],
  ])('is refused: %j', (body, error) => expect(readStreamStop(body)).toEqual({ ok: false, error }))

  it('is given once in a query', () =>
    expect(readStreamQuery({ streamId: ['a1/x', 'a1/y'] })).toEqual({
      ok: false,
      error: { streamId: ['may be given once'] },
    }))
})

describe('another priority of publishers', () => {
  it.each([null, 0, -2_147_483_648, 2_147_483_647])('is %j', (updatePriority) =>
    expect(readReprioritize({ tokenId: 1, updatePriority })).toEqual({
      ok: true,
      value: { tokenId: 1, priority: updatePriority },
    }),
  )

  it.each([undefined, 0.5, '1', -2_147_483_649, 2_147_483_648])('is refused: %j', (updatePriority) =>
    expect(readReprioritize({ tokenId: 1, updatePriority })).toMatchObject({
      error: { updatePriority: [/^is required/] },
    }),
  )

  it.each([undefined, 0, 1.5, '1', 2 ** 53])('needs the id of a token: %j', (tokenId) =>
    expect(readReprioritize({ tokenId, updatePriority: null })).toEqual({
      ok: false,
      error: { tokenId: ['is required, as a whole number'] },
    }),
  )
})
