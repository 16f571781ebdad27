import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Move, NodeAddress } from '../../../src/core/nodes/drain.ts'
import { amfObject, type AmfValue } from '../../../src/media/rtmp/amf0.ts'
import { reconnectingUrl, remoteUrl } from '../../../src/media/rtmp/reconnect.ts'
import { until } from '../../support/until.ts'
import { RtmpClient } from './client.ts'
import { listenFor, type Place, type RtmpPublication } from './publications.ts'

const REQUEST = 'NetConnection.Connect.ReconnectRequest'
const node = (url: string, rtmpPort: number | null = 1935, rtmpsPort: number | null = 1936): NodeAddress => ({
  url,
  rtmpPort,
  rtmpsPort,
})
const ONE = node('https://one.example.com')
const TWO = node('https://two.example.com:8443')
const MOVE: Move = { from: ONE, to: [TWO] }
const TC_URL = 'rtmps://one.example.com:1936/v2/pub?token=abc'
const REST_AT_2936 = '.example.com:2936/v2/pub?token=abc'

describe('a request to connect again', () => {
  let place: Place
  let client: RtmpClient
  beforeEach(async () => {
    place = await listenFor()
    client = await RtmpClient.open(place.port)
  })
  afterEach(async () => {
    client.socket.destroy()
    await place.stop()
  })

  const asked = async (connect: Readonly<Record<string, AmfValue>>) => {
    await client.publish('v2/pub', 'show', connect)
    const [publication] = place.publications
    const { request } = publication as RtmpPublication
    request.askToMove?.(MOVE)
    return request
  }

  test('names the other node to a client that follows it, whose broadcast goes on until it leaves', async () => {
    await asked({ capsEx: 0x0f, tcUrl: TC_URL })
    await client.status(REQUEST)
    const status = client.statuses().find((one) => one.get('code') === REQUEST)
    expect([status?.get('level'), status?.get('tcUrl')]).toEqual(['status', TC_URL.replace('one', 'two')])
    expect([place.publications[0]?.ends, client.socket.closed]).toEqual([0, false])
    client.socket.end()
    await until(() => place.publications[0]?.ends === 1)
  })

  test.each([
    ['without enhanced RTMP', { tcUrl: TC_URL }],
    ['that does not follow it', { capsEx: 0x0e, tcUrl: TC_URL }],
    ['with capabilities that are no number', { capsEx: 'all', tcUrl: TC_URL }],
  ])('does not go to a client %s, which reads the reason when it is cut', async (_, connect) => {
    const request = await asked(connect)
    await request.cut('This server is about to stop; connect again')
    expect((await client.status('NetStream.Publish.Denied')).description).toBe(
      'This server is about to stop; connect again',
    )
    expect(client.statuses().some((one) => one.get('code') === REQUEST)).toBe(false)
  })
})

describe('the address elsewhere', () => {
  test.each<[string, string, Move, string | null]>([
    ['is that of the other node, with port, path and query', TC_URL, MOVE, TC_URL.replace('one', 'two')],
    [
      'of an IPv6 node',
      'rtmp://[::1]:1935/live',
      { from: node('http://[::1]'), to: [node('http://[::2]')] },
      'rtmp://[::2]:1935/live',
    ],
    [
      'has the port of the other node',
      TC_URL,
      { ...MOVE, to: [{ ...TWO, rtmpsPort: 2936 }] },
      `rtmps://two${REST_AT_2936}`,
    ],
    [
      'has the port of a node that does not use the usual one',
      'rtmp://one.example.com/live',
      { ...MOVE, to: [{ ...TWO, rtmpPort: 2935 }] },
      'rtmp://two.example.com:2935/live',
    ],
    [
      'has the usual port, which the client may have left out',
      'rtmp://one.example.com:2935/live',
      { from: { ...ONE, rtmpPort: 2935 }, to: [TWO] },
      'rtmp://two.example.com:1935/live',
    ],
    [
      'keeps the port of a port mapping, which no node knows',
      'rtmp://one.example.com:19350/live',
      { ...MOVE, to: [{ ...TWO, rtmpPort: 2935 }] },
      'rtmp://two.example.com:19350/live',
    ],
    [
      'keeps the port where a node does not say its own',
      TC_URL,
      { ...MOVE, to: [{ ...TWO, rtmpsPort: null }] },
      TC_URL.replace('one', 'two'),
    ],
    [
      'is that of a node on the same machine',
      'rtmp://one.example.com/live',
      { ...MOVE, to: [node(ONE.url, 2935)] },
      'rtmp://one.example.com:2935/live',
    ],
    [
      'is that of the first node that takes such publishers',
      TC_URL,
      { ...MOVE, to: [{ ...TWO, rtmpsPort: 0 }, node('https://three.example.com')] },
      TC_URL.replace('one', 'three'),
    ],
    ['is left out behind a balancer, which chooses', 'rtmp://live.example.com/v2/pub', MOVE, null],
    [
      'is left out where nodes differ in their ports of HTTP only',
      TC_URL,
      { ...MOVE, to: [node('https://one.example.com:444')] },
      null,
    ],
    ['is left out where no node is known', TC_URL, { ...MOVE, to: [] }, null],
    ['is left out where this node does not know its own', TC_URL, { ...MOVE, from: null }, null],
    ['of a client that names none', '', MOVE, null],
    ['of a client that names no URL', 'rtmp://', MOVE, null],
  ])('%s', (_, tcUrl, move, expected) => {
    expect(remoteUrl(tcUrl, move)).toBe(expected)
  })

  test('is not asked for by a client that says no number', () => {
    const read = (connect: Readonly<Record<string, AmfValue>>) => reconnectingUrl(amfObject(connect))
    expect([read({ capsEx: 1 }), read({ capsEx: 1, tcUrl: 7 }), read({ capsEx: Number.NaN }), read({})]).toEqual([
      '',
      '',
      null,
      null,
    ])
  })
})
