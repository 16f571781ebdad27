import { describe, expect, test } from 'vitest'
import type { Report } from './report.ts'
import { partBytes, sampleServer, type Tamper } from './sampleStream.ts'
import { validateHls } from './validator.ts'
import { type Rule, rulesOf } from './violation.ts'

describe('a running stream', () => {
  /** Each watch ends when it has seen enough, so this is for a busy machine. */
  const SECONDS = 30

  async function validate(isEnough: (report: Report) => boolean, tamper?: Tamper, graceSeconds = SECONDS) {
    const server = await sampleServer(tamper)
    try {
      return await validateHls({ url: server.url, seconds: SECONDS, graceSeconds, isEnough })
    } finally {
      await server.close()
    }
  }

  test.concurrent('a good one breaks no rule, and every kind of request was made', async ({ expect }) => {
    const hasSeen = ({ seen }: Report) => Object.values(seen).every((count) => count > 0) && seen.segments > 4
    const { violations, seen } = await validate(hasSeen)
    expect(violations).toEqual([])
    expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([])
  })

  const inMedia = (path: string): boolean => path.includes('media.m3u8')
  let frozen: Buffer | null = null

  test.concurrent.each<[Rule, string, Tamper, number?]>([
    ['V3', 'no init segment', (sent, path) => void (path.endsWith('init.mp4') && (sent.status = 404))],
    ['V12', 'hinted parts that are missing', (sent, path) => void (/p\d+\.m4s/.test(path) && (sent.status = 404))],
    [
      'V13',
      'segments that are gone with the playlist',
      (sent, path) => void (/\/s[2-5]\.m4s/.test(path) && (sent.status = 404)),
    ],
    [
      'V14',
      'a playlist that stands still',
      (sent, path) => {
        if (!inMedia(path)) return
        frozen ??= sent.body
        sent.body = frozen
        sent.status = 200
      },
      0,
    ],
    [
      'V17',
      'segments that are not their parts',
      (sent, path) => void (/\/s\d+\.m4s/.test(path) && (sent.body = Buffer.concat([sent.body, partBytes(1)]))),
    ],
    [
      'V19',
      'media that cannot be read',
      (sent, path) => void (/\/s\d+\.m4s/.test(path) && (sent.body = sent.body.subarray(0, 99))),
    ],
    [
      'V22',
      'a rendition with other dates',
      (sent, path) =>
        void (inMedia(path) && path.startsWith('v1') && (sent.body = edited(sent.body, '2026-01-01', '2026-01-02'))),
    ],
    [
      'V23',
      'a wrong type',
      (sent, path) => void (path.endsWith('.m4s') && (sent.headers['content-type'] = 'text/plain')),
    ],
    [
      'V24',
      'segments that caches must not keep',
      (sent, path) => void (path.endsWith('.m4s') && (sent.headers['cache-control'] = 'no-store')),
    ],
    [
      'V25',
      'tickets in playlists',
      (sent, path, viewer) => void (inMedia(path) && (sent.body = edited(sent.body, '.m4s', `.m4s?t=${viewer}`))),
    ],
    ['answer', 'a server that refuses', (sent, path) => void (inMedia(path) && (sent.status = 401))],
  ])('finds %s: %s', async (rule, _, tamper, grace) => {
    const isFound = ({ violations, seen }: Report) =>
      rulesOf(violations).includes(rule) || (rule === 'V22' && seen.segments > 6)
    const { violations } = await validate(isFound, tamper, grace)
    expect(rulesOf(violations)).toContain(rule)
  })

  test.concurrent.each([
    ['an outage is found', 0, false, true],
    ['an outage that is allowed is no violation', 30_000, false, false],
    ['an outage that the server announces is found', 0, true, true],
    ['an outage that the server announces is no violation if it is allowed', 30_000, true, false],
  ])('%s', async (_, outageMs, isAnnounced, isFound) => {
    const states = { before: 0, announced: 0, isAway: false, isBack: false }
    const server = await sampleServer((sent, path) => {
      if (!isAnnounced || states.before === 0 || states.isBack || !inMedia(path)) return
      sent.status = 503
      states.announced += 1
      // The first announcement has arrived when the validator requests again.
      if (states.announced > 4) leave()
    })
    const leave = (): void => {
      if (states.isAway) return
      states.isAway = true
      void server.restart().then(() => (states.isBack = true))
    }
    const isEnough = ({ seen }: Report): boolean => {
      if (states.before === 0 && seen.segments > 2) {
        states.before = seen.playlists
        if (!isAnnounced) leave()
      }
      return states.isBack && seen.playlists > states.before + 5
    }
    const { violations } = await validateHls({ url: server.url, seconds: 30, graceSeconds: 30, outageMs, isEnough })
    await server.close()
    expect(rulesOf(violations).includes('answer')).toBe(isFound)
    expect(isFound ? [] : violations).toEqual([])
  })

  test('a server that is not there is one violation, and no error', async () => {
    const server = await sampleServer()
    await server.close()
    const { violations } = await validateHls({ url: server.url, seconds: 1 })
    expect(violations.map(({ rule, found }) => [rule, found])).toEqual([['answer', 'no connection']])
  })
})

const edited = (body: Buffer, from: string, to: string): Buffer => Buffer.from(body.toString().replaceAll(from, to))
