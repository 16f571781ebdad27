import { expect, it } from 'vitest'
import { readPublishing } from '../../../src/core/sessions/publishing.ts'

const read = (query: string) => readPublishing(new URLSearchParams(query), ['token', 'sourceId'])

it.each([
  ['token=a&sourceId=b', { noRecord: false, unknown: [] }],
  ['noRecord', { noRecord: true, unknown: [] }],
  ['noRecord=true&noRecord=false', { noRecord: true, unknown: [] }],
  ['noRecord=False', { noRecord: false, unknown: [] }],
  ['noRecord=0', { noRecord: false, unknown: [] }],
  ['priority=3&videoOnly&priority=4', { noRecord: false, unknown: ['priority', 'videoOnly'] }],
])('%s', (query, expected) => {
  expect(read(query)).toEqual(expected)
})

it('names a few of the unknown ones, and nothing that is no name', () => {
  const many = Array.from({ length: 20 }, (_, at) => `p${at}=1`).join('&')
  expect(read(many).unknown).toHaveLength(8)
  expect(read(`${encodeURIComponent('a\nb')}=1&${'x'.repeat(33)}=1&=1`).unknown).toEqual([])
})
