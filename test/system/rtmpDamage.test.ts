import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { MESSAGE } from '../../src/media/rtmp/messages.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { aggregateOf, audioFrame, avcConfig, message, videoFrame } from '../media/rtmp/media.ts'
import { listenFor, type Place } from '../media/rtmp/publications.ts'
import { until } from '../support/until.ts'

let place: Place
afterEach(() => place.stop())

/** Listens, and collects the lines of its log. */
async function listening(clock: Clock = systemClock): Promise<string[]> {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  place = await listenFor({}, () => null, createLogger({ level: 'info', format: 'json', destination }), clock)
  return lines
}

describe('another protocol at the port of RTMP is told why, and leaves a line in the log', () => {
  test.each([
    ['TLS', Buffer.from([0x16, 3, 1, 2, 0, 1]), Buffer.from([21, 3, 1, 0, 2, 2, 40]), /TLS came.*rtmps:\/\//],
    ['RTMPT', Buffer.from('POST /open/1 HTTP/1.1\r\n\r\n'), /^HTTP\/1.1 400 [^]*use rtmp:\/\/$/, /RTMPT/],
    ['RTMPE', Buffer.concat([Buffer.from([6]), Buffer.alloc(1536)]), Buffer.from([3]), /RTMPE came/],
    ['anything else', Buffer.from([0, 1, 2]), Buffer.alloc(0), /begins with 0, not with RTMP version 3/],
  ])('%s', async (_, bytes, answer, line) => {
    const lines = await listening()
    const socket = connect(place.port, '127.0.0.1')
    socket.write(bytes)
    const answered = await buffer(socket)
    if (answer instanceof RegExp) expect(answered.toString()).toMatch(answer)
    else expect(answered).toEqual(answer)
    expect(lines.join('\n')).toMatch(line)
    expect(lines).toHaveLength(1)
  })
})

test('a publisher that sends only what cannot be taken is told what that is', async () => {
  const clock = new ManualClock()
  const lines = await listening(clock)
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  const wrong = [message(MESSAGE.aggregate, 0, [0]), message(MESSAGE.command, 0, [7])]
  client.send(...wrong, avcConfig(Buffer.from([1, 2, 3])))
  await until(() => lines.length === 3)
  for (let second = 0; second < 11; second++) {
    client.send(avcConfig(Buffer.from([1, 2, 3])))
    clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await client.status('NetConnection.Call.Failed')).description).toBe(
    'No audio or video came for too long: The H.264 configuration cannot be read',
  )
  await client.closed
  expect(place.publications[0]?.reason).toBe('lost')
  const leftOut = lines.filter((line) => line.includes('the rest goes on'))
  expect(leftOut.map((line) => (JSON.parse(line) as { description: string }).description)).toEqual([
    'An aggregate message is malformed: its parts do not add up',
    'A command cannot be read: AMF0 type 7 is unknown',
    'The H.264 configuration cannot be read',
  ])
})

test('what is damaged in a broadcast does not end it', async () => {
  await listening()
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  const whole = aggregateOf(40, [videoFrame(0), audioFrame(0)])
  const cut = { ...whole, payload: whole.payload.subarray(0, -20) }
  client.send(avcConfig(), videoFrame(0), cut, message(MESSAGE.command, 0, [7]), message(MESSAGE.video, 60, [0x27]))
  client.send(videoFrame(80))
  await until(() => place.publications[0]?.frames.length === 3)
  expect(place.publications[0]?.frames.map(({ timeUs }) => timeUs)).toEqual([0, 40_000, 80_000])
  client.socket.destroy()
})
