import { expect, it } from 'vitest'
import type { FindingCode, Found } from '../../src/core/streams/findings.ts'
import type { StreamHealth } from '../../src/core/streams/health.ts'
import { type HealthChange, HealthNews, HOLD_MS, NEWS_BURST, NEWS_PAUSE_MS } from '../../src/services/healthNews.ts'

/** A look every five seconds. */
const LOOK_MS = 5_000
const HOUR_MS = 3_600_000
const found = (code: FindingCode): Found => ({ code, value: 1, sinceMs: 0 })

/** Looks at what is found until then, and writes each event at once. */
function looks(
  news: HealthNews,
  fromMs: number,
  untilMs: number,
  at: (nowMs: number) => readonly FindingCode[],
  healthAt: (nowMs: number) => StreamHealth = () => 'steady',
) {
  const told: (HealthChange & { readonly atMs: number })[] = []
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += LOOK_MS) {
    const change = news.look({ health: healthAt(nowMs), findings: at(nowMs).map(found) }, nowMs)
    if (change === null) continue
    news.tell(change)
    told.push({ ...change, atMs: nowMs })
  }
  return told
}
const codesOf = ({ findings }: HealthChange) => findings.map(({ code }) => code)

it('a finding is told once when it has held for some time, and its end when it was away for as long', () => {
  const news = new HealthNews()
  const told = looks(news, 0, HOUR_MS, (nowMs) => (nowMs < 60_000 ? ['b_frames'] : []))
  expect(told).toEqual([
    { atMs: HOLD_MS, health: 'impaired', findings: [found('b_frames')], cleared: [], withheld: 0 },
    { atMs: 60_000 - LOOK_MS + HOLD_MS, health: 'steady', findings: [], cleared: ['b_frames'], withheld: 0 },
  ])
})

it('an event has all that holds, the worst first, and what is over', () => {
  const news = new HealthNews()
  const told = looks(news, 0, 200_000, (nowMs) => [
    ...(nowMs <= 100_000 ? (['b_frames'] as const) : []),
    ...(nowMs >= 100_000 ? (['audio_rate', 'link_slow'] as const) : []),
  ])
  expect(told.map(codesOf)).toEqual([['b_frames'], ['link_slow', 'audio_rate']])
  expect(told.map(({ cleared }) => cleared)).toEqual([[], ['b_frames']])
})

it('a stall and an uneven bitrate are told too, and what is uneven is not steady because it stalls', () => {
  const healthAt = (nowMs: number): StreamHealth =>
    nowMs < 100_000 ? 'uneven' : nowMs < 200_000 ? 'stalled' : nowMs < 300_000 ? 'uneven' : 'steady'
  const told = looks(new HealthNews(), 0, HOUR_MS, () => [], healthAt)
  expect(told.map(({ health }) => health)).toEqual(['uneven', 'stalled', 'uneven', 'steady'])
})

it('a finding that comes and goes with each look is never told, and one that goes for a look is not over', () => {
  const flapping = looks(new HealthNews(), 0, HOUR_MS, (nowMs) => (nowMs % (2 * LOOK_MS) === 0 ? ['video_gaps'] : []))
  expect(flapping).toEqual([])
  const shaky = looks(new HealthNews(), 0, HOUR_MS, (nowMs) => (nowMs === 60_000 ? [] : ['video_gaps']))
  expect(shaky.map(codesOf)).toEqual([['video_gaps']])
})

it('a finding that comes and goes slowly gets few events, which say how many changes had none, and the last has what holds', () => {
  const news = new HealthNews()
  const cycleMs = 6 * HOLD_MS
  const comesAndGoes = looks(news, 0, HOUR_MS, (nowMs) => (nowMs % cycleMs < cycleMs / 2 ? ['packet_loss'] : []))
  const changes = (2 * HOUR_MS) / cycleMs
  expect(comesAndGoes.length).toBeLessThanOrEqual(NEWS_BURST + HOUR_MS / NEWS_PAUSE_MS)
  const withheld = comesAndGoes.reduce((sum, one) => sum + one.withheld, 0)
  expect(withheld).toBeGreaterThan(0)
  expect(comesAndGoes.length + withheld).toBeLessThanOrEqual(changes)
  const [last] = looks(news, HOUR_MS, 2 * HOUR_MS, () => ['packet_loss', 'b_frames']).slice(-1)
  expect(last && codesOf(last)).toEqual(['packet_loss', 'b_frames'])
})

it('an event that was not written is told at the next look, and takes no second allowance', () => {
  const news = new HealthNews()
  const lost = Array.from({ length: 100 }, (_, at) =>
    news.look({ health: 'impaired', findings: [found('b_frames')] }, at * LOOK_MS),
  )
  expect(lost.slice(-1)).toEqual([{ health: 'impaired', findings: [found('b_frames')], cleared: [], withheld: 0 }])
  const [first] = looks(news, 100 * LOOK_MS, 101 * LOOK_MS, () => ['b_frames'])
  expect(first && codesOf(first)).toEqual(['b_frames'])
  const next = looks(news, 101 * LOOK_MS, 101 * LOOK_MS + 200_000, () => ['b_frames', 'audio_rate'])
  expect(next.map(codesOf)).toEqual([['audio_rate', 'b_frames']])
})
