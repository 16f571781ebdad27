import { describe, expect, it } from 'vitest'
import { Demultiplexer } from '../../../src/media/relay/transport/demultiplexer.ts'
import { Handshakes } from '../../../src/media/relay/transport/handshakes.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { TransportTable } from '../../../src/media/relay/transport/transportTable.ts'
import type { WebRtcTransport } from '../../../src/media/relay/transport/webRtcTransport.ts'

const at = (port: number): Endpoint => ({ address: '192.0.2.1', port, via: 0 })

describe('a datagram', () => {
  /** Transports that note what they get; those of `mayBeAt` are tried for strays. */
  function demultiplexer(count: number, mayBeAt: (index: number) => boolean = () => true) {
    const got: string[] = []
    const table = new TransportTable<WebRtcTransport>()
    for (let index = 0; index < count; index += 1) {
      const transport = {
        receiveMedia: (datagram: Buffer) => got.push(`${index} media ${datagram.length}`),
        receiveDtls: (datagram: Buffer) => got.push(`${index} dtls ${datagram.length}`),
        mayBeAt: () => mayBeAt(index),
        receiveStray: () => got.push(`${index} stray`) < 0,
      } as unknown as WebRtcTransport
      table.name(transport, String(index))
      table.locate(transport, at(1 + index), true)
    }
    const all = new Demultiplexer(table, new Handshakes({ now: () => 0, later: (work) => work() }))
    const receive = (first: number, { port = 1, bytes = 60, nowMs = 0 } = {}): string[] => {
      all.receive(Buffer.alloc(bytes, first), at(port), nowMs)
      return got.splice(0)
    }
    return { receive }
  }

  it('goes to the transport at its address, by its first byte (RFC 7983)', () => {
    const { receive } = demultiplexer(2)
    expect([0, 3, 4, 19, 64, 127, 192, 255].flatMap((first) => receive(first))).toEqual([])
    expect([20, 63, 128, 191].flatMap((first) => receive(first, { port: 2 }))).toEqual([
      '1 dtls 60',
      '1 dtls 60',
      '1 media 60',
      '1 media 60',
    ])
    expect([receive(20, { port: 9 }), receive(128, { bytes: 0 })]).toEqual([[], []])
    expect([receive(128, { bytes: 2048 }), receive(128, { bytes: 2049 }), receive(128, { port: 0 })]).toEqual([
      ['0 media 2048'],
      [],
      [],
    ])
  })

  it('of media from nowhere known is tried with four of those that may have sent it, and not too often', () => {
    const { receive } = demultiplexer(8, (index) => index !== 1)
    expect(receive(128, { port: 99 })).toEqual(['0 stray', '2 stray', '3 stray', '4 stray'])
    const tried = Array.from({ length: 30 }, () => receive(128, { port: 99 }).length > 0)
    expect(tried.filter((isTried) => isTried)).toHaveLength(19)
    expect(receive(128, { port: 99, nowMs: 50 })).toHaveLength(4)
  })
})
