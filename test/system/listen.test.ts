import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderPayload } from '../../src/core/webhooks/events.ts'
import { exampleEvent } from '../../src/core/webhooks/examples.ts'
import {
  headerProfile,
  webhookKeyOf,
  signatureHeaders,
  signBody,
  thumbnailHeaders,
} from '../../src/delivery/signature.ts'
import { endServers, listen, sluice, type Listening } from './cliProcess.ts'

const SECRET = Buffer.alloc(32, 7).toString('base64')
const OTHER = Buffer.alloc(32, 8).toString('base64')
const profile = headerProfile()

let receiver: Listening
beforeAll(async () => {
  receiver = await listen(SECRET)
})
afterAll(endServers)

/** The line that is printed for the request of `act`. */
async function printedFor(act: () => Promise<void>): Promise<Record<string, unknown>> {
  const before = receiver.lines().length
  await act()
  await expect.poll(() => receiver.lines().length).toBe(before + 1)
  return receiver.lines()[before] ?? {}
}

const feed = exampleEvent('Feeds', { accountId: 'a1b2c3', nowMs: 1000, streamName: 'studio-1' })
const body = feed.kind === 'event' ? renderPayload(feed.event, 2000) : Buffer.of()

async function post(content: Uint8Array, headers: Record<string, string>): Promise<number> {
  const response = await fetch(receiver.url, { method: 'POST', headers, body: Buffer.from(content) })
  await response.arrayBuffer()
  return response.status
}

const signed = (content: Uint8Array, secret = SECRET, timestampMs = Date.now()) => ({
  'content-type': 'application/json',
  ...signatureHeaders({ profile, secret, id: 'evt_1', timestampMs, body: content }),
})

describe('sluice listen', () => {
  it('accepts a signed callback and prints it with its id', async () => {
    const line = await printedFor(async () => expect(await post(body, signed(body))).toBe(204))
    expect(line).toMatchObject({
      verified: true,
      id: 'evt_1',
      payload: { type: 'feeds', event: 'started', timestamp: 2000, data: { streamId: 'a1b2c3/studio-1' } },
    })
  })

  it('accepts the old signature alone', async () => {
    const headers = { 'content-type': 'application/json', [profile.signature]: signBody(body, webhookKeyOf(SECRET)) }
    const line = await printedFor(async () => expect(await post(body, headers)).toBe(204))
    expect(line).toMatchObject({ verified: true })
    expect(line).not.toHaveProperty('id')
  })

  it('shows a thumbnail as its size and its headers', async () => {
    const image = Buffer.alloc(5000, 0xff)
    const about = { timestampMs: 3000, feedId: 'feed-1', streamId: 'a1b2c3/studio-1', tokenId: 7 }
    const headers = { ...signed(image), ...thumbnailHeaders(profile, about), 'content-type': 'image/jpeg' }
    const line = await printedFor(async () => expect(await post(image, headers)).toBe(204))
    expect(line).toMatchObject({
      thumbnail: {
        bytes: 5000,
        contentType: 'image/jpeg',
        headers: { 'x-service-stream-id': 'a1b2c3/studio-1', 'x-service-timestamp': '3000' },
      },
    })
  })

  it.each([
    ['missing_signature', {}],
    ['wrong_signature', signed(body, OTHER)],
    ['wrong_signature', signed(Buffer.from('something else'))],
    ['too_old', signed(body, SECRET, Date.now() - 600_000)],
    ['too_new', signed(body, SECRET, Date.now() + 600_000)],
  ])('answers 400 and says %s', async (reason, headers) => {
    const line = await printedFor(async () => expect(await post(body, headers)).toBe(400))
    expect(line).toEqual({ at: expect.any(String) as string, verified: false, reason, bytes: body.length })
  })

  it('bounds the body, and accepts only POST', async () => {
    const tooLong = Buffer.alloc(8 * 1024 * 1024 + 1)
    const line = await printedFor(async () => expect(await post(tooLong, {})).toBe(413))
    expect(line).toMatchObject({ verified: false, reason: 'too_large' })
    expect((await fetch(receiver.url)).status).toBe(405)
  })

  it('ends at Ctrl+C with status 0', async () => {
    receiver.signal('SIGINT')
    expect(await receiver.ended).toBe(0)
  })
})

it('requires one secret in base64', async () => {
  for (const argv of [[], ['--secret', SECRET, '--secret-stdin'], ['--secret', 'not base64!']]) {
    const ran = await sluice(['listen', '--port', '0', ...argv])
    expect(ran).toMatchObject({ status: 2, stdout: '' })
  }
})
