import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { SegmentMemory } from '../../src/base/segmentMemory.ts'
import type { NodeAnswer } from '../../src/core/hls/nodes.ts'
import { RemoteMedia } from '../../src/edge/http/hls/remoteMedia.ts'

/** Media of another node that answers when it is told to. */
function remote(answerOf: (url: string) => NodeAnswer | null = () => answer('public, max-age=3600, immutable')) {
  const clock = new ManualClock()
  const asked: string[] = []
  const media = new RemoteMedia(
    clock,
    async (url) => {
      asked.push(url)
      return answerOf(url)
    },
    new SegmentMemory(),
  )
  return { clock, asked, media }
}

const answer = (caching: string, bytes = 10): NodeAnswer => ({
  status: 200,
  caching,
  playsMs: 0,
  body: Buffer.alloc(bytes),
})

test('all viewers share one request, and then its answer, for a minute at most', async () => {
  const { clock, asked, media } = remote()
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => media.get('s1', `~${n}/s1`)))
  expect([new Set(answers).size, asked]).toEqual([1, ['~0/s1']])
  clock.advance(59_000)
  media.sweep()
  await media.get('s1', '~x/s1')
  expect(asked).toHaveLength(1)
  clock.advance(1001)
  media.sweep()
  await media.get('s1', '~y/s1')
  expect(asked).toEqual(['~0/s1', '~y/s1'])
})

test('what is in memory can be had at once, and nothing else', async () => {
  const { clock, media } = remote()
  expect(media.peek('s1')).toBeNull()
  const fetched = media.get('s1', 's1')
  expect(media.peek('s1')).toBeNull()
  const answered = await fetched
  expect(media.peek('s1')).toBe(answered)
  clock.advance(60_001)
  expect(media.peek('s1')).toBeNull()
})

test('what must not be kept is requested again, and so is a node that did not answer', async () => {
  for (const given of [answer('no-store'), answer('no-cache'), null]) {
    const { asked, media } = remote(() => given)
    expect(await media.get('a', 'a')).toEqual(given)
    expect(await media.get('a', 'a')).toEqual(given)
    expect(asked).toHaveLength(2)
  }
})

test('a blocking playlist is kept for as long as shared caches may', async () => {
  const { clock, asked, media } = remote(() => answer('public, max-age=0, s-maxage=6'))
  await media.get('p', 'p')
  clock.advance(5999)
  await media.get('p', 'p')
  expect(asked).toHaveLength(1)
  clock.advance(1)
  await media.get('p', 'p')
  expect(asked).toHaveLength(2)
})

test('the oldest pieces make room for new ones', async () => {
  const { asked, media } = remote(() => answer('max-age=60', 10 * 1024 * 1024))
  for (let n = 0; n < 20; n++) await media.get(`s${n}`, `s${n}`)
  expect(asked).toHaveLength(20)
  await media.get('s19', 's19')
  expect(asked).toHaveLength(20)
  await media.get('s0', 's0')
  expect(asked).toHaveLength(21)
})

test('requests under way are bounded', async () => {
  const never = new RemoteMedia(new ManualClock(), () => new Promise(() => undefined), new SegmentMemory())
  for (let n = 0; n < 2000; n++) void never.get(`s${n}`, `s${n}`)
  expect(await never.get('one more', 'one more')).toBeNull()
})
