import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { amfObject } from '../../src/media/rtmp/amf0.ts'
import { commandMessage } from '../../src/media/rtmp/messages.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type EventReceiver, receiveEvents } from '../support/eventReceiver.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
let token: string
let tokenId: number
let receiver: EventReceiver
let broadcasts = 0

beforeAll(async () => {
  sluice = await runApp({ flags: { webhooks: { allowPrivateTargets: true } } })
  receiver = await receiveEvents()
  const hook = { url: receiver.url, isFeedHooks: true }
  expect((await sluice.call('POST', '/api/webhooks', hook)).status).toBe(200)
  const made = await makeToken(sluice, 'publish')
  token = made.token
  tokenId = made.id
})
afterAll(async () => {
  await sluice.close()
  receiver.close()
})

const live = () => sluice.app.ctx.sessions
const open = () => RtmpClient.open(sluice.rtmpPort ?? 0)

/** A broadcast on the air. */
async function broadcast(name: string): Promise<RtmpClient> {
  const client = await open()
  await client.publish('v2/pub', name)
  client.send(avcConfig(), videoFrame(0))
  broadcasts += 1
  return client
}

/** The message that a publisher gets when it is cut. */
async function whyCut(client: RtmpClient): Promise<string> {
  const { description } = await client.status('NetStream.Publish.Denied')
  await client.closed
  return description
}

describe('a broadcast over RTMP', () => {
  test.each([
    { goodbye: ['deleteStream'], reason: 'left' },
    { goodbye: ['closeStream'], reason: 'left' },
    { goodbye: ['FCUnpublish'], reason: 'left' },
    { goodbye: [], reason: 'lost' },
  ])('whose connection closes after $goodbye has $reason', async ({ goodbye, reason }) => {
    const client = await broadcast(`show?token=${token}`)
    const [feed] = await until(() => live().feeds.all().length === 1 && live().feeds.all())
    const kinds: string[] = []
    feed?.media.subscribe({ tracks: () => undefined, frame: () => undefined, end: () => kinds.push('end') })
    for (const name of goodbye) client.send(commandMessage(0, name, 6, null, 1))
    client.socket.end()
    await until(() => live().size === 0 && live().leaving.size === 0)
    const ended = await sluice.app.ctx.store.read.sessions.get(feed?.sessionId ?? '')
    expect(ended?.endReason).toBe(reason)
    // Only one that said goodbye is not expected back.
    expect(kinds).toEqual(goodbye.length > 0 ? ['end'] : [])
  })

  test('is decided by its token, is on the air with its first frame, and is off when it leaves', async () => {
    const client = await broadcast(`my%20studio?token=${token}&sourceId=cam-1`)
    await until(() => live().feeds.all().length === 1)
    const [feed] = live().feeds.all()
    expect(feed).toMatchObject({ streamName: 'my studio', sourceId: 'cam-1', tokenId, accountId: sluice.accountId })
    expect(live().all()[0]?.session).toMatchObject({ protocol: 'rtmp', action: 'publish', address: '127.0.0.1' })
    const onAir = async () => (await sluice.call('GET', '/api/streams/live')).json.data
    expect(await onAir()).toMatchObject([{ streamName: 'my studio', protocol: 'rtmp', videoCodec: 'h264' }])
    expect((await onAir())[0].width).toBeGreaterThan(0)
    client.send(commandMessage(0, 'deleteStream', 6, null, 1))
    await until(() => live().size === 0)
    expect(live().feeds.all()).toEqual([])
    client.socket.destroy()
  })

  test('that says goodbye closes its connection itself: GStreamer takes a server that does so first for a failure', async () => {
    const client = await broadcast(`polite?token=${token}`)
    client.send(commandMessage(0, 'deleteStream', 6, null, 1))
    await client.status('NetStream.Unpublish.Success')
    // Another connection is answered after that.
    const other = await broadcast(`other?token=${token}`)
    expect(client.socket.readableEnded).toBe(false)
    for (const { socket, closed } of [client, other]) {
      socket.end()
      await closed
    }
    await until(() => live().size === 0)
  })

  test('passes its frames to every subscriber of the feed', async () => {
    const client = await broadcast(`show?token=${token}`)
    await until(() => live().feeds.all().length === 1)
    const kinds: string[] = []
    live()
      .feeds.all()[0]
      ?.media.subscribe({
        tracks: (tracks) => kinds.push(...tracks.map(({ codec }) => codec)),
        frame: ({ kind }) => kinds.push(kind),
        end: () => kinds.push('end'),
      })
    client.send(videoFrame(40))
    await until(() => kinds.length >= 3)
    client.send(commandMessage(0, 'deleteStream', 6, null, 1))
    client.socket.end()
    await until(() => live().size === 0)
    expect(kinds).toEqual(['h264', 'video', 'video', 'end'])
  })

  test('ends when its token is deleted', async () => {
    const doomed = await makeToken(sluice, 'publish')
    const client = await broadcast(`show?token=${doomed.token}`)
    await until(() => live().feeds.all().length === 1)
    expect((await sluice.call('DELETE', `/api/publish_token/${doomed.id}`)).status).toBe(200)
    expect(await whyCut(client)).toBe('Unauthorized: Invalid token')
    await until(() => live().size === 0)
  })

  test('that is ended through the API shows the reason at the publisher', async () => {
    const ended = await broadcast(`show?token=${token}`)
    await until(() => live().feeds.all().length === 1)
    const [{ session } = { session: { id: '' } }] = live().all()
    expect((await sluice.call('DELETE', `/api/sessions/${session.id}`)).status).toBe(200)
    expect(await whyCut(ended)).toBe('The broadcast was ended by the server: its session was ended through the API')
    const stopped = await broadcast(`show?token=${token}`)
    await until(() => live().feeds.all().length === 1)
    const body = { streamId: `${sluice.accountId}/show` }
    expect((await sluice.call('POST', '/api/stream/stop', body)).status).toBe(200)
    expect(await whyCut(stopped)).toBe('The broadcast was ended by the server: the stream was stopped')
  })

  test('is replaced by a second publisher with the same name', async () => {
    const first = await broadcast(`show?token=${token}`)
    await until(() => live().feeds.all().length === 1)
    const [before] = live().feeds.all()
    const second = await broadcast(`show?token=${token}`)
    expect(await whyCut(first)).toBe('Replaced by another publisher of the same stream')
    await until(() => live().size === 1)
    expect(live().feeds.all()).toHaveLength(1)
    expect(live().feeds.all()[0]?.feedId).not.toBe(before?.feedId)
    second.socket.destroy()
    await until(() => live().size === 0)
  })

  test('has its bytes counted', async () => {
    const client = await broadcast(`show?token=${token}`)
    for (let at = 1; at <= 100; at++) client.send(videoFrame(at * 40, 10_000))
    await until(() => (live().all()[0]?.bytes.bytesIn ?? 0) > 1_000_000)
    client.socket.destroy()
    await until(() => live().size === 0)
  })
})

describe('the text of each refusal', () => {
  const refusal = async (app: string, name: string) => {
    const client = await open()
    await client.publish(app, name).catch(() => undefined)
    const status = await client.status()
    await client.closed
    return `${status.code}: ${status.description}`
  }
  const wants = async (body: object, name = 'show') =>
    refusal('v2/pub', `${name}?token=${(await makeToken(sluice, 'publish', body)).token}`)
  const bad = (text: string) => `NetStream.Publish.Denied: ${text}`

  test('no token, an unknown one, and one for viewers', async () => {
    const invalid = bad('Unauthorized: Invalid token')
    expect(await refusal('v2/pub', 'show')).toBe(invalid)
    expect(await refusal('v2/pub', `show?token=${'0'.repeat(64)}`)).toBe(invalid)
    const viewer = await makeToken(sluice, 'subscribe')
    expect(await refusal('v2/pub', `show?token=${viewer.token}`)).toBe(invalid)
  })

  test('another stream, an origin, a country, addresses', async () => {
    const streams = [{ streamName: 'other' }]
    expect(await wants({ streams })).toBe(bad('Unauthorized: StreamName is not valid for token'))
    expect(await wants({ allowedOrigins: ['example.com'] })).toBe(
      bad('Unauthorized: Origin not allowed (RTMP has no origin)'),
    )
    expect(await wants({ allowedCountries: ['FR'] })).toBe(bad('Unauthorized: Country not allowed'))
    const filters = bad('Unauthorized: IP filters are not supported with RTMP')
    expect(await wants({ allowedIpAddresses: ['127.0.0.1'] })).toBe(filters)
    expect(await wants({ bindIpsOnUsage: 1 })).toBe(filters)
  })

  test('a disabled token', async () => {
    const { id, token: value } = await makeToken(sluice, 'publish')
    await sluice.call('PUT', `/api/publish_token/${id}`, { isActive: false })
    expect(await refusal('v2/pub', `show?token=${value}`)).toBe(bad('Unauthorized: Token disabled'))
  })

  test('another application, no name, a stream key where none is accepted', async () => {
    expect(await refusal('vod', 'show')).toMatch(/Nothing can be published there; publish to rtmp:\/\/HOST\/v2\/pub/)
    expect(await refusal('v2/pub', `?token=${token}`)).toMatch(/Nothing can be published there|stream name is missing/)
    expect(await refusal('live', 'some-key')).toBe(
      bad('Unauthorized: Invalid stream key; with a publish token, publish to rtmp://HOST/v2/pub/STREAM?token=TOKEN'),
    )
  })

  test('playing', async () => {
    const client = await open()
    client.socket.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)]))
    client.send(commandMessage(0, 'connect', 1, amfObject({ app: 'v2/pub' })), commandMessage(1, 'play', 2, null, 'x'))
    expect(await client.status()).toMatchObject({
      code: 'NetStream.Play.Failed',
      description: 'Playing over RTMP is not supported; this server takes publishers',
    })
    await client.closed
  })
})

test('ffmpeg shows the reason', async () => {
  const target = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/show?token=${'0'.repeat(64)}`
  const argv = ['-v', 'error', '-nostdin', '-f', 'lavfi', '-i', 'testsrc2=s=64x64', '-t', '1', '-f', 'flv', target]
  const child = spawn('ffmpeg', argv, { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (data: Buffer) => (output += data.toString()))
  const [status] = (await once(child, 'close')) as [number]
  expect(status).not.toBe(0)
  expect(output).toContain('Unauthorized: Invalid token')
})

test('each broadcast had one event of its start, and one of its end', async () => {
  const byFeed = () => [...Map.groupBy(receiver.received, ({ data }) => data['feedId']).values()]
  await until(() => byFeed().flat().length >= 2 * broadcasts)
  const names = byFeed().map((events) => events.map(({ name }) => name).toSorted())
  expect(names).toEqual(Array.from({ length: broadcasts }, () => ['feeds ended', 'feeds started']))
})

test('an occupied port keeps the server from starting, and the error names the key to change', async () => {
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  const { port } = squatter.address() as { port: number }
  await expect(runApp({ flags: { rtmp: { port } } })).rejects.toThrow(
    /is in use by another process; stop it, or choose another with rtmp\.port/,
  )
  squatter.close()
})

test('address rules apply if the configuration says so', async () => {
  const strict = await runApp({ flags: { rtmp: { ipFilters: 'enforce' } } })
  const tokens = [{ allowedIpAddresses: ['127.0.0.1'] }, { bindIpsOnUsage: 1 }, { allowedIpAddresses: ['192.0.2.1'] }]
  const output: string[] = []
  for (const body of tokens) {
    const client = await RtmpClient.open(strict.rtmpPort ?? 0)
    await client
      .publish('v2/pub', `show?token=${(await makeToken(strict, 'publish', body)).token}`)
      .catch(() => undefined)
    output.push((await client.status()).description)
    client.socket.destroy()
  }
  expect(output).toEqual(['Publishing.', 'Publishing.', 'Unauthorized: IP Address not allowed'])
  await strict.close()
})

test('if RTMP is disabled, nothing listens', async () => {
  const quiet = await runApp({ flags: { rtmp: { enabled: false } } })
  expect(quiet.rtmpPort).toBe(null)
  await quiet.close()
})
