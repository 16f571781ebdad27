import { expect, it } from 'vitest'
import { type AddressFacts, nodeBase, publicAddresses, resourceBase } from '../../../src/core/streams/addresses.ts'

const FACTS: AddressFacts = {
  accountId: 'a1b2c3',
  publicUrl: '',
  nodeUrl: '',
  scheme: 'http',
  host: 'localhost:8080',
  rtmp: { port: 1935, tlsPort: 0, url: '' },
  srt: { port: 10_000 },
}
const of = (facts: Partial<AddressFacts>) => publicAddresses({ ...FACTS, ...facts })

it('the addresses are those of the request while nothing is configured', () => {
  expect(of({})).toEqual({
    base: 'http://localhost:8080',
    baseSource: 'request',
    whip: 'http://localhost:8080/api/whip/{streamName}',
    whep: 'http://localhost:8080/api/whep/a1b2c3/{streamName}',
    hls: 'http://localhost:8080/hls/a1b2c3/{streamName}/index.m3u8',
    watch: 'http://localhost:8080/watch/a1b2c3/{streamName}',
    player: 'http://localhost:8080/player.js',
    dashboard: 'http://localhost:8080/dashboard/',
    origin: 'http://localhost:8080',
    rtmp: 'rtmp://localhost/v2/pub/{streamName}',
    srt: 'srt://localhost:10000',
  })
  expect(of({ scheme: 'https', host: '[2001:db8::1]:8443' }).base).toBe('https://[2001:db8::1]:8443')
})

it('a configured address comes first, with the prefix of a proxy, and never two slashes', () => {
  const publicUrl = 'https://live.example.com/sluice/'
  const configured = of({ publicUrl, nodeUrl: 'https://node1.example.com' })
  expect(configured).toMatchObject({ base: 'https://live.example.com/sluice', baseSource: 'publicUrl' })
  expect(configured.whip).toBe('https://live.example.com/sluice/api/whip/{streamName}')
  expect(configured.origin).toBe('https://live.example.com')
  expect(of({ nodeUrl: 'https://node1.example.com' }).baseSource).toBe('nodeUrl')
})

it.each([
  ['', '', ''],
  ['https://live.example.com', '', ''],
  ['https://live.example.com/sluice/', '', '/sluice'],
  ['https://live.example.com/sluice', 'https://node1.example.com/n1/', 'https://node1.example.com/n1'],
])('behind %j and %j the path of a resource begins with %j', (publicUrl, nodeUrl, base) => {
  expect(resourceBase({ publicUrl, nodeUrl })).toBe(base)
})

it('what one node alone has is at the address of that node, if it has one', () => {
  const [publicUrl, nodeUrl] = ['https://live.example.com/sluice/', 'https://node1.example.com/']
  expect(nodeBase({ ...FACTS, publicUrl, nodeUrl })).toBe('https://node1.example.com')
  expect(nodeBase({ ...FACTS, publicUrl })).toBe('https://live.example.com/sluice')
  expect(nodeBase(FACTS)).toBe('http://localhost:8080')
})

it('RTMP has the host of the other addresses, or that of the configured address of channels; or none', () => {
  expect(of({ rtmp: { port: 1935, tlsPort: 1936, url: '' } }).rtmps).toBe('rtmps://localhost:1936/v2/pub/{streamName}')
  expect(of({ rtmp: { port: 1935, tlsPort: 443, url: '' } }).rtmps).toBe('rtmps://localhost/v2/pub/{streamName}')
  expect(of({ rtmp: { port: 1936, tlsPort: 0, url: '' } }).rtmp).toBe('rtmp://localhost:1936/v2/pub/{streamName}')
  expect(of({ rtmp: { port: 1935, tlsPort: 0, url: 'rtmps://in.example.com:443/live' } }).rtmp).toBe(
    'rtmps://in.example.com:443/v2/pub/{streamName}',
  )
  expect(of({ rtmp: null })).not.toHaveProperty('rtmp')
})

it('SRT has the host of the other addresses and its port; or none', () => {
  expect(of({ publicUrl: 'https://live.example.com', srt: { port: 9000 } }).srt).toBe('srt://live.example.com:9000')
  expect(of({ srt: null })).not.toHaveProperty('srt')
})

const NO_URLS = ['host:99999', '1.2.3.4.5', '999.1.1.1', '[::::]', '[1.2.3.4]', 'a.1']
it.each(['', 'a b', 'host/path', 'user@host', 'host:1:2', '"><script>', ...NO_URLS])(
  'a host like %j is not shown',
  (host) => {
    expect(of({ host }).base).toBe('http://localhost')
  },
)
