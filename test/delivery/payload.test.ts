import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixPayload, requestFor } from '../../src/delivery/payload.ts'
import { headerProfile } from '../../src/delivery/signature.ts'
import { SECRET } from '../support/delivery.ts'
import { sender } from './support/outgoing.ts'

const profile = headerProfile()
const about = { accountId: 'abc123' }
const text = ({ body }: { body: Uint8Array }): unknown => JSON.parse(Buffer.from(body).toString())

describe('the bytes of an event', () => {
  test('of the token interface say when they were sent', () => {
    const event = { ...about, type: 'viewerConnection', event: 'ViewerAttempt', data: '{"name":"stage"}' }
    const payload = fixPayload(event, profile, 5_000_999)
    expect(text(payload)).toEqual({
      type: 'viewerConnection',
      event: 'ViewerAttempt',
      timestamp: 5_000_999,
      data: { name: 'stage' },
    })
    expect(payload).toMatchObject({ contentType: 'application/json', headers: {} })
  })

  test('of a channel say when it happened', () => {
    const object = { type: 'ingest', id: 'in_1', name: 'Camera' }
    const data = JSON.stringify({ object, data: null, atMs: 3_000_999 })
    expect(text(fixPayload({ ...about, type: 'channel', event: 'ingest.created', data }, profile, 5e6))).toEqual({
      type: 'ingest.created',
      created: 3000,
      object: { ...object, organizationId: 'abc123' },
      data: null,
    })
  })

  test('of a thumbnail are its image, and its headers say whose it is', () => {
    const image = Buffer.from([255, 216, 0])
    const data = JSON.stringify({ image: image.toString('base64'), feedId: 'f', streamId: 'abc123/s', tokenId: 7 })
    const payload = fixPayload({ ...about, type: 'thumbnail', event: 'thumbnail', data }, profile, 5e6)
    expect([Buffer.from(payload.body), payload.contentType]).toEqual([image, 'image/jpeg'])
    expect(payload.headers).toEqual({
      'X-Service-Timestamp': '5000000',
      'X-Service-Feed-Id': 'f',
      'X-Service-Stream-Id': 'abc123/s',
      'X-Service-Token-Id': '7',
    })
  })
})

describe('the request of a delivery', () => {
  const payload = { body: Buffer.from('{}'), contentType: 'application/json', headers: { 'x-a': 'b' } }
  const to = { url: 'https://hooks.example.org/', secretSealed: Buffer.from(SECRET) }
  const of = (type: string) => requestFor(sender, to, { eventId: 'e1', type }, payload, 5_000_999)
  const hmac = (name: string, key: string | Buffer, ...parts: string[]) => createHmac(name, key).update(parts.join(''))

  test('posts the bytes with their headers and the signature of the profile', () => {
    const { headers, ...rest } = of('feeds')
    expect(rest).toEqual({ url: to.url, method: 'POST', body: payload.body })
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Sluice/test',
      'x-a': 'b',
      'webhook-id': 'e1',
      'webhook-timestamp': '5000',
      'X-Service-Signature': `sha1=${hmac('sha1', Buffer.from(SECRET, 'base64'), '{}').digest('hex')}`,
    })
  })

  test('signs events of channels in their own way, under the id that lists show', () => {
    const { headers } = of('channel')
    expect(headers).toMatchObject({
      'webhook-id': 'ev_e1',
      'x-service-streaming-signature': `t=5000,h=${hmac('sha256', SECRET, '5000.', '{}').digest('hex')}`,
    })
    expect(headers).not.toHaveProperty('X-Service-Signature')
  })
})
