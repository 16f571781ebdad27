import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { RtspTarget, type RtspTargetOptions } from '../support/rtspTarget.ts'
import { makeToken } from '../support/testNode.ts'
import { eventually, until } from '../support/until.ts'

const PASSWORD = 'correct-horse-battery'
const LOGIN = { user: 'studio', password: PASSWORD, scheme: 'Digest', qop: 'auth' } as const
const log: string[] = []
let app: RunningApp
const targets: RtspTarget[] = []

beforeAll(async () => {
  app = await runApp({
    flags: { media: { allowedNetworks: ['127.0.0.0/8'] } },
    log: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
  })
})
afterAll(async () => {
  await app.close()
  for (const target of targets) target.stop()
})

async function listen(options: RtspTargetOptions): Promise<RtspTarget> {
  const target = await RtspTarget.start(options)
  targets.push(target)
  return target
}

const urlOf = ({ port }: RtspTarget, password = PASSWORD) => `rtsp://studio:${password}@127.0.0.1:${port}/live/show`

async function publish(name: string, token: string): Promise<RtmpPublisher> {
  const media = await encoded({ video: 'hevc', audio: 'opus', seconds: 4, gop: 25 })
  const url = `rtmp://127.0.0.1:${app.rtmpPort}/v2/pub/${name}?token=${token}`
  return RtmpPublisher.start(url, systemClock, enhancedMessages(media))
}

const restreams = async (name: string) =>
  (await app.call('GET', `/api/streams/live?streamName=${name}`)).json.data[0]?.restreams

test('a target over RTSP gets the broadcast as it is, loses it with its token, and its password shows up nowhere', async () => {
  const target = await listen({ login: LOGIN })
  const { token, id } = await makeToken(app, 'publish', { restream: [{ url: urlOf(target) }] })
  const publisher = await publish('show', token)
  await until(() => target.isRecording && (target.packets.get(4)?.length ?? 0) > 10)
  expect(target.sdp).toContain('a=rtpmap:96 H265/90000')
  expect(target.sdp).toContain('a=rtpmap:97 opus/48000/2')
  const shown = `rtsp://studio:••••tery@127.0.0.1:${target.port}/live/show`
  await eventually(async () => expect(await restreams('show')).toMatchObject([{ status: 'live', url: shown }]))
  const list = await app.call('GET', `/api/publish_token/${id}`)
  expect(list.json.data.restream).toMatchObject([{ url: shown, key: '' }])
  expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(PASSWORD)
  await app.call('DELETE', `/api/publish_token/${id}`)
  await until(() => target.connections === 0)
  expect(target.methods.at(-1)).toBe('TEARDOWN')
  expect(JSON.stringify([log, list.json])).not.toContain(PASSWORD)
  publisher.end()
})

test('a target over RTSP that refuses the password is refused after three tries, and gets H.264 if it asks for it', async () => {
  const target = await listen({ login: LOGIN })
  const { token } = await makeToken(app, 'publish', {
    restream: [{ url: urlOf(target, 'another-password') }, { url: urlOf(target), transcode: true }],
  })
  const publisher = await publish('two', token)
  await until(() => target.isRecording)
  expect(target.sdp).toContain('a=rtpmap:96 H264/90000')
  expect(target.sdp).toContain('MPEG4-GENERIC/')
  const problem = 'The target refuses the user or the password'
  await eventually(async () =>
    expect(await restreams('two')).toMatchObject([{ status: 'refused', problem }, { status: 'live' }]),
  )
  publisher.end()
  await until(() => target.connections === 0)
})
