import { expect, test } from 'vitest'
import { readChannelQuery, readPlainQuery } from '../../../src/core/channels/listQuery.ts'

const filters = (query: Record<string, unknown>) => {
  const read = readChannelQuery(query)
  return read.ok ? read.value.filters : read.error.details?.map(({ path }) => path)
}

test('a list has twenty items a page, and takes its cursor and its limit once', () => {
  expect(readPlainQuery({})).toMatchObject({ value: { limit: 20, cursor: undefined } })
  expect(readPlainQuery({ limit: '7', cursor: 'x' })).toMatchObject({ value: { limit: 7, cursor: 'x' } })
  expect(readPlainQuery({ limit: '101', nope: '1' })).toMatchObject({ error: { code: 'invalid_limit' } })
  expect(readPlainQuery({ cursor: ['a', 'b'] })).toMatchObject({ error: { details: [{ path: 'cursor' }] } })
  expect(readPlainQuery({ limit: ['1', '2'] })).toMatchObject({ error: { code: 'invalid_limit' } })
})

test('filters of channels are read as they are written, each once', () => {
  const query = {
    name: 'a,b',
    search: 'ch_',
    status: 'stopped,playing,stopped,ready',
    id: 'ch_1,ch_2,ch_1',
    externalId: ' ',
  }
  expect(filters(query)).toEqual({ ...query, status: ['playing', 'stopped', 'ready'], id: ['ch_1', 'ch_2'] })
  expect(filters({ name: ['a', 'a'] })).toEqual(['name'])
})

test('what no channel can have is refused by name', () => {
  const wrong = { name: '', search: 'x'.repeat(257), status: 'playing,', id: 'a b', externalId: '\0' }
  expect(filters(wrong)).toEqual(Object.keys(wrong))
  expect(filters({ name: 'x'.repeat(256), search: '\ud800' })).toEqual(['search'])
  const ids = Array.from({ length: 101 }, (_, at) => `ch_${at}`)
  expect([filters({ id: ids.slice(1).join() }), filters({ id: ids.join() })]).toEqual([{ id: ids.slice(1) }, ['id']])
  expect(filters({ id: `${'x'.repeat(64)},${'x'.repeat(65)}` })).toEqual(['id'])
  expect(readChannelQuery({ sort: 'name' })).toMatchObject({
    error: { message: 'sort: is not a parameter here; allowed: limit, cursor, name, search, status, id, externalId' },
  })
})
