import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { socketWire } from '../support/socketWire.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { addressOf, WirePeer } from '../support/wirePeer.ts'

const SECONDS = 600
const EXPIRED = 'Unauthorized: Token expired'

describe.each(testedStores())('clients of a server on %s', (engine) => {
  let aheadMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  let place: Place
  let sluice: RunningApp
  beforeAll(async () => {
    place = await newPlace(engine)
    const flags = { storage: { url: place.url }, webrtc: { host: '127.0.0.1', port: 0, processes: 1 } }
    sluice = await runApp({ clock, flags })
  })
  afterAll(async () => {
    await sluice.close()
    await place.remove()
  })

  /** A peer over WHIP or WHEP, connected. */
  async function meet(direction: 'sendonly' | 'recvonly', path: string, token: string): Promise<WirePeer> {
    const wire = socketWire('udp')
    onTestFinished(() => wire.close())
    const peer = new WirePeer(wire, addressOf(1))
    const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
    const answer = await sluice.call('POST', `/api/${path}`, peer.offer(direction), headers)
    expect(answer.status).toBe(201)
    peer.accept({ ok: true, answer: answer.text, etag: '' })
    await wire.open(answer.text)
    await peer.connect()
    return peer
  }

  /** A publisher that sends until the test ends. */
  async function publisher(name: string, token: string) {
    const client = await RtmpClient.open(sluice.rtmpPort ?? 0)
    onTestFinished(() => void client.socket.destroy())
    await client.publish('v2/pub', `${name}?token=${token}`)
    client.send(avcConfig())
    let sent = 0
    const sending = setInterval(() => {
      client.send(videoFrame(sent * 40, 400, { key: sent % 25 === 0 }))
      sent += 1
    }, 10)
    onTestFinished(() => clearInterval(sending))
    return client
  }

  const get = (path: string) => sluice.call('GET', path, undefined, { authorization: '' })

  /** Opens a session over HLS, and returns the address of its media playlist. */
  async function watchHls(name: string, token: string): Promise<string> {
    const folder = `/hls/${sluice.accountId}/${name}/`
    let media = ''
    await until(async () => {
      const [path] = /^[^#\s].*$/m.exec((await get(`${folder}index.m3u8?auth=${token}`)).text) ?? []
      media = path === undefined ? '' : folder + path
      return media !== '' && (await get(media)).status === 200
    })
    return media
  }

  const sessionsOf = ({ id }: { id: number }) =>
    sluice.app.ctx.sessions
      .ofToken(id)
      .map(({ session }) => session)
      .toSorted((a, b) => a.protocol.localeCompare(b.protocol))

  const statusesOf = (client: RtmpClient) => client.statuses().map((status) => status.get('description'))

  test('are cut over each protocol when a token with endAtExpiry expires, and no others are', async () => {
    const [publish, view] = await Promise.all(
      (['publish', 'subscribe'] as const).map((kind) =>
        makeToken(sluice, kind, { expires: SECONDS, endAtExpiry: true }),
      ),
    )
    const keeps = await makeToken(sluice, 'publish', { expires: SECONDS })
    if (!publish || !view) throw new Error('no tokens')
    const rtmp = await publisher('publisher', publish.token)
    const kept = await publisher('kept', keeps.token)
    const media = await watchHls('kept', view.token)
    await meet('sendonly', 'whip/browser', publish.token)
    await until(() => sluice.app.ctx.sessions.feeds.all().length === 3)
    await meet('recvonly', `whep/${sluice.accountId}/browser`, view.token)
    await until(() => sessionsOf(view).length === 2)
    const ending = [...sessionsOf(publish), ...sessionsOf(view)]
    expect(ending.map(({ protocol }) => protocol)).toEqual(['rtmp', 'whip', 'hls', 'whep'])

    aheadMs += SECONDS * 1000
    await until(() => sessionsOf(publish).length + sessionsOf(view).length === 0)
    await rtmp.closed
    expect(statusesOf(rtmp)).toContain(EXPIRED)
    const refused = await get(media)
    expect([refused.status, refused.text]).toEqual([401, EXPIRED])
    await until(() => sluice.app.ctx.sessions.leaving.size === 0)
    const reasons = ending.map(async ({ id }) => (await sluice.app.ctx.store.read.sessions.get(id))?.endReason)
    expect(await Promise.all(reasons)).toEqual(ending.map(() => 'token_expired'))
    // The other one went on after its expiry.
    expect(sessionsOf(keeps)).toHaveLength(1)
    expect(statusesOf(kept)).not.toContain(EXPIRED)
  })
})
