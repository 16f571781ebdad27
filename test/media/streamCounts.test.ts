import { expect, test } from 'vitest'
import { StreamCounts } from '../../src/media/streamCounts.ts'
import { newSession } from '../conformance/store.samples.ts'

test('what a publisher is told and what a viewer reports is media of neither', () => {
  const counts = new StreamCounts()
  const of = { accountId: 'a1', streamName: 'show' }
  const publisher = newSession({ ...of, action: 'publish', protocol: 'whip' })
  const viewer = newSession({ ...of, action: 'view', protocol: 'whep' })
  for (const session of [publisher, viewer]) counts.change(session, 1)
  counts.moved(publisher, 1000, 7)
  expect(counts.of('a1', 'show')).toMatchObject({ bytesIn: 1000, bytesOut: 0 })
  counts.moved(viewer, 5, 300)
  counts.moved(newSession({ ...of, action: 'preview', protocol: 'whep' }), 1, 1)
  expect(counts.of('a1', 'show')).toMatchObject({ bytesIn: 1000, bytesOut: 300 })
  expect([...counts.accounts()]).toEqual([['a1', { viewers: 1, bytesIn: 1000, bytesOut: 300 }]])
})
