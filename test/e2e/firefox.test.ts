import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIREFOX, type Firefox, openFirefox } from './firefox.ts'
import { Peer, type Tab } from './peer.ts'
import { setStage, type Stage, type Token } from './sluice.ts'

const anyName = [{ streamName: '.*', isRegex: true }]

describe.skipIf(!existsSync(FIREFOX))('Firefox', () => {
  let stage: Stage
  let firefox: Firefox
  beforeAll(async () => {
    ;[stage, firefox] = await Promise.all([setStage(), openFirefox()])
  })
  afterAll(async () => {
    await firefox.close()
    await stage.close()
  })

  const open = (): Promise<Peer<Tab>> => Peer.open(firefox, stage.origin('localhost'))

  async function view<T extends Tab>(viewer: Peer<T>, stream: string, token?: Token): Promise<Peer<T>> {
    const request = { url: stage.whep(stream), ...(token ? { token: token.token } : {}) }
    await viewer.watchSoon(request)
    return viewer
  }

  test('broadcasts its camera to Chromium and to itself, and deleting the token ends its viewer', async () => {
    const { token } = await stage.token('publish', { streams: anyName, subscribeRequiresAuth: true })
    const publisher = await open()
    expect(await publisher.publish({ url: stage.whip('fox'), token, camera: true })).toBe('ok')
    const [kept, taken] = [
      await stage.token('subscribe', { streams: anyName }),
      await stage.token('subscribe', { streams: anyName }),
    ]
    const other = await view(await stage.peer(), 'fox', kept)
    const own = await view(await open(), 'fox', taken)
    await Promise.all([other.plays(), own.plays()])
    const over = own.over()
    await stage.api('DELETE', `/api/subscribe_token/${taken.id}`)
    expect(await over).toBe('connected')
    await own.stands()
    await other.plays()
    expect(await own.watch({ url: stage.whep('fox'), token: taken.token })).toBe('401 Unauthorized: Invalid token')
    await publisher.stop()
    await other.stands()
  })

  test.each(['vp8', 'vp9'])('watches %s of Chromium', async (codec) => {
    const { token } = await stage.token('publish', { streams: anyName })
    const publisher = await stage.peer()
    expect(await publisher.publish({ url: stage.whip(codec), token, codec })).toBe('ok')
    const viewer = await view(await open(), codec)
    expect((await viewer.plays()).codecs).toContain(`video/${codec.toUpperCase()}`)
    await Promise.all([publisher.close(), viewer.close()])
  })
})
