import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIREFOX, type Firefox, openFirefox } from './firefox.ts'
import { buildPlayer } from './playerPage.ts'
import { setStage, type Stage } from './sluice.ts'

describe.skipIf(!existsSync(FIREFOX))('the player in Firefox', () => {
  let stage: Stage
  let firefox: Firefox
  beforeAll(async () => {
    buildPlayer()
    ;[stage, firefox] = await Promise.all([setStage(), openFirefox()])
  })
  afterAll(async () => {
    await firefox.close()
    await stage.close()
  })

  test('waits, plays over WHEP and over HLS, and explains a refusal', async () => {
    const { token } = await stage.token('publish', { streams: [{ streamName: 'show' }], subscribeRequiresAuth: true })
    const subscribe = await stage.token('subscribe', { streams: [{ streamName: 'show' }] })
    const tab = await firefox.newPage()
    const element = `<sluice-player stream="${stage.accountId}/show" token="${subscribe.token}"></sluice-player>`
    const body = `<script src="/record.js"></script>${element}<script type="module" src="${stage.server.url}/player.js"></script>`
    await tab.goto(`${stage.origin('localhost')}/site?${new URLSearchParams({ body }).toString()}`)
    const last = () => tab.evaluate<string>("seen.states.at(-1) ?? ''")
    const plays = async (): Promise<void> => {
      const at = () => tab.evaluate<number>('video(0).currentTime')
      const before = await at()
      await expect.poll(at).toBeGreaterThan(before + 1)
    }
    await expect.poll(last).toBe('0 waiting: stream_not_published')
    const publisher = await stage.peer()
    expect(await publisher.publish({ url: stage.whip('show'), token, codec: 'vp8' })).toBe('ok')
    await expect.poll(last).toBe('0 playing')
    await plays()
    expect(await tab.evaluate('players()[0].delivery')).toBe('whep')
    await tab.evaluate("players()[0].setAttribute('mode', 'hls')")
    await expect.poll(() => tab.evaluate('players()[0].delivery + players()[0].state')).toBe('hlsplaying')
    await plays()
    await tab.evaluate("players()[0].setAttribute('token', 'wrong')")
    await expect.poll(last).toBe('0 refused: invalid_token')
    expect(await tab.evaluate('seen.violations')).toEqual([])
  })
})
