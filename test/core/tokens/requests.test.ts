import { describe, expect, it, test } from 'vitest'
import { readDisable, readRevoke } from '../../../src/core/tokens/actions.ts'
import { readListByNameQuery, readTokenListQuery } from '../../../src/core/tokens/listQuery.ts'
import { error, value } from './samples.ts'

describe('list query', () => {
  it('has defaults', () => {
    expect(value(readTokenListQuery({}))).toEqual({ sortBy: 'Name', page: 1, itemsOnPage: 20, descending: false })
  })

  it('reads strings', () => {
    const query = { sortBy: 'AddedOn', page: '2147483647', itemsOnPage: '100', isDescending: 'true' }
    expect(value(readTokenListQuery(query))).toEqual({
      sortBy: 'AddedOn',
      page: 2_147_483_647,
      itemsOnPage: 100,
      descending: true,
    })
    expect(value(readTokenListQuery({ isDescending: 'false' })).descending).toBe(false)
  })

  test.each([
    ['sortBy', 'Id'],
    ['sortBy', ''],
    ['sortBy', ['Name', 'AddedOn']],
    ['page', '0'],
    ['page', '-1'],
    ['page', '1.5'],
    ['page', '1e3'],
    ['page', '01'],
    ['page', ' 1'],
    ['page', ''],
    ['page', '2147483648'],
    ['page', ['1', '2']],
    ['itemsOnPage', '101'],
    ['itemsOnPage', '0'],
    ['isDescending', 'yes'],
    ['isDescending', '1'],
  ])('%s=%j is refused by name', (name, sent) => {
    const query = Object.fromEntries([[name, sent]])
    expect(Object.getOwnPropertyNames(error(readTokenListQuery(query)))).toEqual([name])
    expect(Object.getOwnPropertyNames(error(readListByNameQuery({ name: 'a', ...query })))).toEqual([name])
  })

  it('reports a parameter with two values as allowed once', () => {
    expect(error(readTokenListQuery({ page: ['1', '2'] }))['page']?.[0]).toContain('once')
  })

  test.each([
    [
      { isDescending: 'True', sortBy: 'ADDEDON' },
      { descending: true, sortBy: 'AddedOn' },
    ],
    [{ page: ['2', '2'] }, { page: 2 }],
    [{ Page: '2', page: '2' }, { page: 2 }],
    [{ cursor: 'x', toString: 'x', ...Object.fromEntries([['__proto__', 'x']]) }, { page: 1 }],
  ])('%j is accepted: case, repeats and unknown parameters do not matter', (query, expected) => {
    expect(value(readTokenListQuery(query))).toMatchObject(expected)
  })

  it('reports all errors at once', () => {
    expect(Object.keys(error(readTokenListQuery({ page: '0', itemsOnPage: '0', sortby: 'Id' })))).toHaveLength(3)
  })
})

describe('list_by_name query', () => {
  test.each([
    [undefined, 'TokenOrStreamName'],
    ['None', 'TokenOrStreamName'],
    ['TokenOrStreamName', 'TokenOrStreamName'],
    ['TokenName', 'TokenName'],
    ['StreamName', 'StreamName'],
  ])('filterBy %s looks in %s', (filterBy, expected) => {
    const query = { name: 'studio', page: '2', ...(filterBy === undefined ? {} : { filterBy }) }
    expect(value(readListByNameQuery(query))).toMatchObject({ name: 'studio', page: 2, filterBy: expected })
  })

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(129) }, 'name'],
    [{ name: 'a\u0000' }, 'name'],
    [{ name: ['a', 'b'] }, 'name'],
    [{ name: 'a', filterBy: 'Token' }, 'filterBy'],
  ])('%j is refused at %s', (query, path) => {
    expect(Object.keys(error(readListByNameQuery(query)))).toEqual([path])
  })

  it('reads a name of digits as text', () => {
    expect(value(readListByNameQuery({ name: '2026' })).name).toBe('2026')
  })
})

describe('revocation', () => {
  const now = Date.UTC(2026, 0, 31, 12)
  const revoke = (body: unknown) => readRevoke(body, now)

  it('accepts one id, a time, or both', () => {
    expect(value(revoke({ jti: 'a' }))).toEqual({ jti: 'a', issuedBeforeMs: null })
    expect(value(revoke({ issuedBefore: '2026-01-31T13:00:00.5+02:00' }))).toEqual({
      jti: null,
      issuedBeforeMs: Date.UTC(2026, 0, 31, 11, 0, 0, 500),
    })
    expect(value(revoke({ jti: 'a', issuedBefore: null })).jti).toBe('a')
  })

  it('accepts the first moment of 1970', () => {
    expect(value(revoke({ issuedBefore: '1970-01-01T00:00:00Z' })).issuedBeforeMs).toBe(0)
  })

  it('accepts the time of the server, which no clock of a client has to match', () => {
    expect(value(revoke({ issuedBefore: 'now' })).issuedBeforeMs).toBe(now)
    expect(error(revoke({ issuedBefore: 'Now' })).issuedBefore).toHaveLength(1)
  })

  it('tolerates a clock that is a minute ahead, and no more', () => {
    expect(revoke({ issuedBefore: '2026-01-31T12:01:00Z' }).ok).toBe(true)
    expect(error(revoke({ issuedBefore: '2026-01-31T12:01:00.001Z' }))).toEqual({
      issuedBefore: ['must not be in the future'],
    })
  })

  test.each([
    [{}, 'body'],
    [{ jti: null }, 'body'],
    [null, 'body'],
    [{ jti: '' }, 'jti'],
    [{ jti: 'x'.repeat(129) }, 'jti'],
    [{ jti: 'a\n' }, 'jti'],
    [{ jti: 5 }, 'jti'],
    [{ issuedBefore: 1_750_000_000 }, 'issuedBefore'],
    [{ issuedBefore: '2026-01-31' }, 'issuedBefore'],
    [{ issuedBefore: '2026-01-31T10:00:00' }, 'issuedBefore'],
    [{ issuedBefore: '2025-02-30T10:00:00Z' }, 'issuedBefore'],
    [{ issuedBefore: '2025-02-28T24:00:00Z' }, 'issuedBefore'],
    [{ issuedBefore: '1969-12-31T23:59:59Z' }, 'issuedBefore'],
    [{ issuedBefore: 'Sat, 31 Jan 2026 10:00:00 GMT' }, 'issuedBefore'],
    [{ jti: 'a', issuedBeforeMs: 5 }, 'issuedBeforeMs'],
  ])('%j is refused at %s', (body, path) => {
    expect(Object.keys(error(revoke(body)))).toEqual([path])
  })
})

describe('disabling', () => {
  it('reads each id once, in their order', () => {
    expect(value(readDisable({ tokenIds: [9, 3, 9] }))).toEqual([9, 3])
  })

  test.each([
    [{}, 'tokenIds'],
    [{ tokenIds: [] }, 'tokenIds'],
    [{ tokenIds: 5 }, 'tokenIds'],
    [{ tokenIds: ['5'] }, 'tokenIds[0]'],
    [{ tokenIds: [1, 0] }, 'tokenIds[1]'],
    [{ tokenIds: [2 ** 53] }, 'tokenIds[0]'],
    [{ tokenIds: Array(1001).fill(1) }, 'tokenIds'],
    [{ tokenIds: [1], all: true }, 'all'],
  ])('%j is refused at %s', (body, path) => {
    expect(Object.keys(error(readDisable(body)))).toEqual([path])
  })
})
