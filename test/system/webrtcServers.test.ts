import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Message } from '../../src/media/rtmp/messages.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { type Answer, type RunningApp, runApp } from '../support/app.ts'
import { codecsOnAir, feedNamed } from '../support/broadcast.ts'
import { credential } from '../support/channelsClient.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const FLAGS = { webrtc: { host: '127.0.0.1', port: 0 }, media: { allowedNetworks: ['127.0.0.0/8'] } }
const log: string[] = []
const publishers: RtmpPublisher[] = []
/** Two installations. `near` is the client of `far`. */
let far: RunningApp
let near: RunningApp
let show: Message[]
let viewerToken: string

beforeAll(async () => {
  const destination = { write: (line: string) => void log.push(line) }
  far = await runApp({ flags: FLAGS })
  near = await runApp({ flags: FLAGS, log: createLogger({ level: 'debug', format: 'json', destination }) })
  show = enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25 }))
  viewerToken = (await makeToken(far, 'subscribe')).token
})
afterAll(async () => {
  for (const publisher of publishers) publisher.end()
  await near.close()
  await far.close()
})

async function publishAt({ rtmpPort }: RunningApp, streamName: string, token: string): Promise<RtmpPublisher> {
  const url = `rtmp://127.0.0.1:${rtmpPort}/v2/pub/${streamName}?token=${token}`
  const publisher = await RtmpPublisher.start(url, systemClock, show)
  publishers.push(publisher)
  return publisher
}

const portOf = ({ base }: RunningApp): string => new URL(base).port
const whepOf = (sluice: RunningApp, streamName: string, token = viewerToken): string =>
  `whep://:${token}@127.0.0.1:${portOf(sluice)}/api/whep/${sluice.accountId}/${streamName}`

async function pulled(streamName: string, url: string): Promise<{ id: number; tokenId: number }> {
  const { id: tokenId } = await makeToken(near, 'publish')
  const made = await near.call('POST', '/api/pulls', { tokenId, streamName, url })
  expect(made.status, made.text).toBe(200)
  return { id: made.json.data.id, tokenId }
}

const read = async (id: number) => (await near.call('GET', `/api/pulls/${id}`)).json.data
const is = (id: number, status: string) => until(async () => (await read(id)).status === status && read(id))
const viewersAt = (sluice: RunningApp, name: string): number =>
  sluice.app.ctx.sessions.all().filter(({ session }) => session.streamName === name && session.action === 'view').length

describe('a pull over WHEP', () => {
  beforeAll(async () => {
    const { token } = await makeToken(far, 'publish')
    await publishAt(far, 'show', token)
    await until(() => feedNamed(far, 'show'))
  })

  test('is on the air with its pictures and its sound, which its own viewers get, and shows its token nowhere', async () => {
    const { id, tokenId } = await pulled('copy', whepOf(far, 'show'))
    expect(await codecsOnAir(near, 'copy')).toEqual(['h264', 'opus'])
    expect((await is(id, 'live')).url).toBe(`whep://:••••@127.0.0.1:${portOf(far)}/api/whep/${far.accountId}/show`)
    const [entry] = near.app.ctx.sessions.ofToken(tokenId)
    expect(entry?.session).toMatchObject({ protocol: 'pull', action: 'publish', address: '127.0.0.1' })
    await until(() => (entry?.bytes.bytesIn ?? 0) > 10_000 && entry?.media?.source.packetLoss !== undefined)

    const { token } = await makeToken(near, 'subscribe')
    const { id: farToken } = await makeToken(far, 'publish')
    const url = whepOf(near, 'copy', token)
    const again = await far.call('POST', '/api/pulls', { tokenId: farToken, streamName: 'copy-of-copy', url })
    expect(again.status, again.text).toBe(200)
    expect(await codecsOnAir(far, 'copy-of-copy')).toEqual(['h264', 'opus'])

    const rows = await near.app.ctx.store.read.audit.page({ accountId: near.accountId, limit: 1000 })
    const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    const list = (await near.call('GET', '/api/pulls')).text
    expect([JSON.stringify(rows), processes, list, log.join('')].join('\n')).not.toContain(viewerToken)
  })

  test('ends with its token, and leaves the other server', async () => {
    const { tokenId } = await pulled('doomed', whepOf(far, 'show'))
    await codecsOnAir(near, 'doomed')
    const before = viewersAt(far, 'show')
    expect((await near.call('DELETE', `/api/publish_token/${tokenId}`)).status).toBe(200)
    await until(() => feedNamed(near, 'doomed') === undefined && viewersAt(far, 'show') === before - 1)
  })

  test('says that the stream is not on the air, and begins when it is', async () => {
    const { id } = await pulled('early', whepOf(far, 'late'))
    expect((await is(id, 'waiting')).problem).toBe(
      'The stream is not on the air at the source (409). It says: Stream not being published',
    )
    await publishAt(far, 'late', (await makeToken(far, 'publish')).token)
    expect(await codecsOnAir(near, 'early')).toEqual(['h264', 'opus'])
  })

  test('with a token that does not count is refused in words', async () => {
    const { id } = await pulled('wrong', whepOf(far, 'show', 'no-such-token'))
    const { problem } = await is(id, 'refused')
    expect(problem).toMatch(/^The source refuses the login \(40[13]\)/)
    expect(problem).not.toContain('no-such-token')
  })

  test('of this server itself is refused when it is dialled', async () => {
    const { id } = await pulled('loop', whepOf(near, 'copy'))
    const { problem } = await until(async () => (await read(id)).problem !== undefined && read(id))
    expect(problem).toContain('an address that no source may have')
  })

  test('of a name that leads to an address that is not allowed is refused when it is dialled', async () => {
    const closed = await runApp({ flags: { ...FLAGS, media: { allowedNetworks: ['127.0.0.2/32'] } } })
    const { id: tokenId } = await makeToken(closed, 'publish')
    const url = whepOf(far, 'show').replace('127.0.0.1', 'localhost')
    const made = await closed.call('POST', '/api/pulls', { tokenId, streamName: 's', url })
    expect(made.status, made.text).toBe(200)
    const readAt = async () => (await closed.call('GET', `/api/pulls/${made.json.data.id}`)).json.data
    const { problem } = await until(async () => (await readAt()).problem !== undefined && readAt())
    expect(problem).toContain('an address that no source may have')
    await closed.close()
  })
})

describe('a channel that pulls over WHEP', () => {
  let v2: (method: string, path: string, body?: object) => Promise<Answer['json']>
  beforeAll(async () => {
    const authorization = await credential(near, 'write')
    v2 = async (method, path, body) => (await near.call(method, `/v2${path}`, body, { authorization })).json?.data
  })

  async function channelOf(url: string): Promise<{ id: string; engineId: string; ingestId: string }> {
    const video = [{ label: '90p', width: 160, height: 90, bitrate: 100_000 }]
    const ladder = await v2('POST', '/abr', { name: 'small', video, audio: { bitrate: 64 } })
    const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId: ladder.id } }]
    const ingests = [{ name: 'Far', type: 'whep-pull', region: 'local', url, engines }]
    const made = await v2('POST', '/channels', { name: 'Copied', ingests })
    await v2('POST', `/channels/${made.id}/start`)
    return { id: made.id, engineId: made.engines[0].id, ingestId: made.ingests[0].id }
  }

  const reaches = (id: string, status: string) =>
    until(async () => (await v2('GET', `/channels/${id}`)).status === status, status)

  test('plays, is measured with its loss, and leaves the other server when it stops', async () => {
    const before = viewersAt(far, 'show')
    const { id, ingestId } = await channelOf(whepOf(far, 'show'))
    await reaches(id, 'playing')
    const source = () => v2('GET', `/monitoring/ingests/${ingestId}`)
    await until(async () => (await source()).metrics.at(-1)?.bitrate.total > 20_000, 'a bitrate')
    expect(await source()).toMatchObject({ status: 'connected', protocol: 'whep' })
    expect((await source()).metrics.at(-1)).toMatchObject({ packetLoss: expect.any(Number) })
    expect(viewersAt(far, 'show')).toBe(before + 1)
    await v2('POST', `/channels/${id}/stop`)
    await until(() => viewersAt(far, 'show') === before, 'the end of the session')
    await reaches(id, 'stopped')
  })

  test('with a token that does not count is left alone in words', async () => {
    const { id, engineId } = await channelOf(whepOf(far, 'show', 'no-such-token'))
    await reaches(id, 'error')
    const { statusMessage } = await v2('GET', `/engines/${engineId}`)
    expect(statusMessage).toMatch(/The source refuses the login \(40[13]\)/)
    expect(statusMessage).not.toContain('no-such-token')
    await v2('POST', `/channels/${id}/stop`)
  })
})

describe('a target over WHIP', () => {
  let farToken: { id: number; token: string }
  beforeAll(async () => {
    farToken = await makeToken(far, 'publish')
  })

  const targetOf = (streamName: string, key = farToken.token) => ({
    url: `whip://127.0.0.1:${portOf(far)}/api/whip/${streamName}`,
    key,
  })

  async function sentTo(streamName: string, target: object): Promise<{ id: number; publisher: RtmpPublisher }> {
    const { id, token } = await makeToken(near, 'publish', { restream: [target] })
    return { id, publisher: await publishAt(near, streamName, token) }
  }
  const targetAt = async (streamName: string) => {
    const [stream] = (await near.call('GET', `/api/streams/live?streamName=${streamName}`)).json.data
    return stream?.restreams?.[0]
  }

  test('gets the pictures as they are and the sound as Opus, and ends with the token', async () => {
    const { id } = await sentTo('sent', targetOf('sent-there'))
    expect(await codecsOnAir(far, 'sent-there')).toEqual(['h264', 'opus'])
    const shown = await until(async () => {
      const target = await targetAt('sent')
      return target?.status === 'live' && target.bitrateOut > 0 && target
    })
    expect(shown.url).toBe(targetOf('').url + 'sent-there')
    expect(feedNamed(far, 'sent-there')).toMatchObject({ tokenId: farToken.id })

    const rows = await near.app.ctx.store.read.audit.page({ accountId: near.accountId, limit: 1000 })
    const lists = [(await near.call('GET', '/api/publish_token')).text, JSON.stringify(shown)]
    expect([JSON.stringify(rows), ...lists, log.join('')].join('\n')).not.toContain(farToken.token)
    expect((await near.call('DELETE', `/api/publish_token/${id}`)).status).toBe(200)
    await until(() => feedNamed(far, 'sent-there') === undefined)
  })

  test('that refuses the token is left alone, and says so without it', async () => {
    const { publisher } = await sentTo('unwanted', targetOf('x', 'no-such-token'))
    const { problem, problemSentences } = await until(async () => {
      const target = await targetAt('unwanted')
      return target?.status === 'refused' && target
    })
    expect(problem).toMatch(/^The target refuses the login \(40[13]\)/)
    expect(problemSentences).toContainEqual({ code: 'target_refuses_session', values: { status: expect.any(Number) } })
    expect(problem).not.toContain('no-such-token')
    publisher.end()
  })

  test('that ends the session is dialled again', async () => {
    const { publisher } = await sentTo('again', targetOf('again-there'))
    await codecsOnAir(far, 'again-there')
    const first = feedNamed(far, 'again-there')?.sessionId
    expect((await far.call('DELETE', `/api/sessions/${first}`)).status).toBe(200)
    await until(() => {
      const feed = feedNamed(far, 'again-there')
      return feed !== undefined && feed.sessionId !== first
    })
    publisher.end()
    await until(() => feedNamed(far, 'again-there') === undefined)
  })

  test('at this server itself is refused when it is dialled', async () => {
    const url = `whip://127.0.0.1:${portOf(near)}/api/whip/loop`
    const { publisher } = await sentTo('looped', { url, key: 'any-token-1' })
    const { problem } = await until(async () => {
      const target = await targetAt('looped')
      return target?.problem !== undefined && target.problem !== null && target
    })
    expect(problem).toContain('an address that no target may have')
    publisher.end()
  })
})
