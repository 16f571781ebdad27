import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ladderArguments } from '../../../src/media/encoder/arguments.ts'
import { X264 } from '../../../src/media/ffmpeg/videoEncoders.ts'
import { pullScript } from '../../../src/media/encoder/pullInput.ts'

test('a source is named in the script, and nowhere in the arguments', () => {
  const script = pullScript({ url: "srt://192.0.2.1:9000?streamid=it's", options: {} })
  expect(script.split('\n').slice(0, 2)).toEqual([
    'ffconcat version 1.0',
    String.raw`file 'srt://192.0.2.1:9000?streamid=it'\''s'`,
  ])
  const args = ladderArguments({ rungs: [], audioKbps: null, hasVideo: true, hasAudio: true, input: 'pull' }, X264)
  expect(args.slice(args.indexOf('-i'), args.indexOf('-i') + 2)).toEqual(['-i', 'pipe:0'])
})

test('a pulled source may use only protocols of live sources, and must not be a list', () => {
  const script = pullScript({ url: 'rtmp://192.0.2.1/app/s', options: { rtmp_tcurl: 'rtmp://live.example.com/app' } })
  expect(script).toContain("option protocol_whitelist 'rtmp,rtmps,srt,tcp,udp,tls,crypto'\n")
  expect(script).toContain("option format_whitelist 'flv,live_flv,mpegts'\n")
  expect(script).toContain("option rtmp_tcurl 'rtmp://live.example.com/app'\n")
})

test('no address adds a line to the script', () => {
  const lines = pullScript({ url: 'srt://192.0.2.1:9000', options: {} }).split('\n').length
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (rest) => {
      let script = ''
      try {
        script = pullScript({ url: `srt://192.0.2.1:9000?${rest}`, options: {} })
      } catch {
        // oxlint-disable-next-line no-control-regex
        expect(rest).toMatch(/[\u0000-\u001f]/)
        return
      }
      expect(script.split('\n')).toHaveLength(lines)
      // Outside of quotes a backslash precedes each quote, and there is an even number of the others.
      expect((script.replaceAll(String.raw`'\''`, '').match(/'/g) ?? []).length % 2).toBe(0)
    }),
  )
})
