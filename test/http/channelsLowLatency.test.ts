import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Answer } from '../support/app.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { StagedEngine } from '../support/stagedEngine.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(() => live.close())

interface Stage {
  id: string
  engine: StagedEngine
  /** The path of a media playlist. */
  playlist: string
}

const setStatus = (id: string, status: 'ingesting' | 'playing') =>
  live.running.app.ctx.store.transaction((tx) => tx.engines.setStatus(id, status, null))

/** A channel whose engine plays: the test makes its frames. */
async function newStage(): Promise<Stage> {
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'main' }] }],
    distributions: [{ name: 'web' }],
  })
  const [[{ id: engineId }], [{ id }]] = [made.engines, made.distributions]
  await setStatus(engineId, 'playing')
  const engine = new StagedEngine(live.running.app.channelStreams, engineId).begin().play(3)
  return { id, engine, playlist: `${await playbackFolder(live.running.base, id, engineId)}/media.m3u8` }
}

const play = (path: string): Promise<Answer> => live.running.call('GET', path, undefined, { authorization: '' })
const linesOf = (playlist: string): string[] =>
  playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
const change = (stage: Stage, body: object) => live.made('PATCH', `/distributions/${stage.id}`, body)

/** The status and the reason of a refusal. */
async function refusalOf(path: string): Promise<[number, string]> {
  const { status, text } = await play(path)
  return [status, text]
}

describe('low latency', () => {
  /** The number of the next segment, and the path of a playlist that waits for this part of it. */
  const waitingFor = (stage: Stage, part: number | null, ahead = 0): string => {
    const n = (stage.engine.stream.facts('0')?.nextSegment ?? 0) + ahead
    return `${stage.playlist}?_HLS_msn=${n}${part === null ? '' : `&_HLS_part=${part}`}`
  }

  it('a playlist waits for the part that it is asked for, and names the next one, which waits too', async () => {
    const stage = await newStage()
    const { engine } = stage
    const asked = play(waitingFor(stage, 1))
    const hint = /PRELOAD-HINT:TYPE=PART,URI="(.*)"/.exec((await play(stage.playlist)).text)?.[1] ?? ''
    const hinted = play(stage.playlist.replace('media.m3u8', hint))
    const whole = play(waitingFor(stage, null))
    engine.playOn(1)
    const [playlist, part] = [await asked, await hinted]
    expect([playlist.status, part.status]).toEqual([200, 200])
    expect(playlist.text.match(/^#EXT-X-PART:/gm)?.length).toBeGreaterThan(2 * 6 + 1)
    expect(playlist.text).toContain(`URI="${hint}",INDEPENDENT=YES\n`)
    expect(part.headers.get('content-type')).toBe('video/mp4')
    engine.play(1)
    expect((await whole).text).toMatch(new RegExp(`^s${engine.stream.facts('0')?.segments.at(-1)?.n}\\.m4s$`, 'm'))
  })

  it('a request for what does not come soon is refused, and so is one that makes no sense', async () => {
    const stage = await newStage()
    const tooFar = [400, expect.stringContaining('_HLS_msn')]
    expect(await refusalOf(waitingFor(stage, 0, 5))).toEqual(tooFar)
    // Each number would be a request of its own to the node that makes the stream, and wait there.
    for (const ahead of [0, 1]) expect(await refusalOf(waitingFor(stage, 11, ahead))).toEqual(tooFar)
    for (const query of ['_HLS_msn=x', '_HLS_part=1', '_HLS_msn=-1', '_HLS_msn=1&_HLS_msn=2'])
      expect(await refusalOf(`${stage.playlist}?${query}`)).toEqual(tooFar)
  })

  it('a rule that changes while a request waits applies to it', async () => {
    const stage = await newStage()
    const asked = refusalOf(waitingFor(stage, 0))
    // The request has to be there before the change; one that came later would be refused at once.
    await expect.poll(() => stage.engine.stream.isAwaited).toBe(true)
    await change(stage, { security: { ipBlocking: { enabled: true, mode: 'allow', cidrs: ['198.51.100.0/24'] } } })
    stage.engine.playOn(1)
    expect(await asked).toEqual([403, 'This cannot be watched from your address'])
  })

  it('is on by default, and without it a playlist has whole segments only', async () => {
    const stage = await newStage()
    const outputs = async () => (await live.made('GET', `/distributions/${stage.id}`)).outputs
    expect(await outputs()).toMatchObject({ llHls: true })
    await change(stage, { outputs: { llHls: false }, latencies: { hls: 7 } })
    expect(await outputs()).toMatchObject({ llHls: false, hls: true })
    const { text } = await play(waitingFor(stage, 3))
    expect(text).toContain('#EXT-X-SERVER-CONTROL:HOLD-BACK=7.000\n')
    expect(text).not.toMatch(/PART|BLOCK|HINT/)
    expect(linesOf(text)).toHaveLength(3)
  })

  it('a viewer who comes while the engine begins waits for its first segment', async () => {
    const made = await live.made('POST', '/channels', {
      name: 'stage',
      ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'main' }] }],
      distributions: [{ name: 'web' }, { name: 'plain', outputs: { llHls: false } }],
    })
    const [{ id }] = made.engines
    await setStatus(id, 'ingesting')
    const engine = new StagedEngine(live.running.app.channelStreams, id).begin()
    const answers = made.distributions.map((distribution: { id: string }) =>
      play(`/v2/distributions/${distribution.id}/hls/main.m3u8`),
    )
    await expect.poll(() => engine.stream.isAwaited).toBe(true)
    engine.play(3)
    for (const answer of await Promise.all(answers)) expect(linesOf(answer.text)).toHaveLength(2)
  })
})
