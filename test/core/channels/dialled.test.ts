import { expect, test } from 'vitest'
import { dialledAt } from '../../../src/core/channels/dialled.ts'

const tcUrl = (url: string) => ({ rtmp_tcurl: url })

test.each([
  ['rtmp://live.example.com/app/stream', 'rtmp://192.0.2.1/app/stream', 'rtmp://live.example.com/app'],
  ['rtmp://live.example.com:19350/app/a?k=b', 'rtmp://192.0.2.1:19350/app/a?k=b', 'rtmp://live.example.com:19350/app'],
  ['RTMP://live.example.com/app/inst/s', 'rtmp://192.0.2.1/app/inst/s', 'RTMP://live.example.com/app/inst'],
  ['rtmp://live.example.com/app/mp4:f/s', 'rtmp://192.0.2.1/app/mp4:f/s', 'rtmp://live.example.com/app'],
  // If the user stayed, ffmpeg would read `:` as the user and dial the name.
  ['rtmp://:@live.example.com/app/s', 'rtmp://192.0.2.1/app/s', 'rtmp://live.example.com/app'],
  ['rtmp://live.example.com:/app/s', 'rtmp://192.0.2.1/app/s', 'rtmp://live.example.com/app'],
  ['rtmp://live.example.com/app', 'rtmp://192.0.2.1/app', 'rtmp://live.example.com/app'],
  ['rtmp://live.example.com/ondemand/a/b', 'rtmp://192.0.2.1/ondemand/a/b', 'rtmp://live.example.com/ondemand'],
])('%s is dialled by its address, and its server receives the name', (source, url, told) => {
  expect(dialledAt(source, '192.0.2.1')).toEqual({ url, options: tcUrl(told) })
})

test('SRT keeps its port and parameters, and IPv6 addresses are in brackets', () => {
  const source = 'srt://live.example.com:9000?passphrase=0123456789&streamid=a/b:c'
  const rest = ':9000?passphrase=0123456789&streamid=a/b:c'
  expect(dialledAt(source, '192.0.2.1')).toEqual({ url: `srt://192.0.2.1${rest}`, options: {} })
  expect(dialledAt(source, '2001:db8::1').url).toBe(`srt://[2001:db8::1]${rest}`)
  expect(dialledAt('srt://[2001:db8::2]:9000', '2001:db8::2').url).toBe('srt://[2001:db8::2]:9000')
})

test('a source behind the TLS proxy is dialled at the port of the proxy', () => {
  const options = tcUrl('rtmps://live.example.com:8443/app')
  const source = 'rtmps://live.example.com:8443/app/s'
  expect(dialledAt(source, '127.0.0.1#4000')).toEqual({ url: 'rtmp://127.0.0.1:4000/app/s', options })
})
