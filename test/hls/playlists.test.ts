import { describe, expect, test } from 'vitest'
import { checkPlaylist } from './onePlaylist.ts'
import { readMediaPlaylist } from './playlist.ts'
import { samplePlaylist } from './sampleStream.ts'
import { checkBlocking, checkNews, checkSameText, checkSuccessor } from './twoPlaylists.ts'
import { type Rule, rulesOf } from './violation.ts'

/** 13 segments and 2 parts: the playlist lists segments 3 to 12, and parts from 11 on. */
const TEXT = samplePlaylist(67)
const read = (text: string) => readMediaPlaylist(text)

describe('one playlist', () => {
  const judge = (text: string): Rule[] => rulesOf(checkPlaylist(read(text), 'v0'))

  test('a good one breaks no rule: just after a segment, ended, without parts', () => {
    const ended = samplePlaylist(65).replace(/#EXT-X-PRELOAD-HINT.*\n/, '#EXT-X-ENDLIST\n')
    for (const text of [TEXT, samplePlaylist(65), ended]) expect(judge(text)).toEqual([])
    const plain = TEXT.replace(/^#EXT-X-SERVER-CONTROL.*$/m, '#EXT-X-SERVER-CONTROL:HOLD-BACK=3')
    expect(judge(plain.replaceAll(/#EXT-X-(PART|PRELOAD).*\n/g, ''))).toEqual([])
  })

  const last = (from: string, to: string): string => {
    const at = TEXT.lastIndexOf(from)
    return TEXT.slice(0, at) + to + TEXT.slice(at + from.length)
  }

  test.each<[string, Rule[], string]>([
    ['parts that do not fill their segment', ['V1'], last('#EXTINF:1.000', '#EXTINF:0.990')],
    ['a PART-HOLD-BACK of twice the part target', ['V2'], TEXT.replace('BACK=0.600', 'BACK=0.400')],
    ['no PART-HOLD-BACK', ['strict', 'V2'], TEXT.replace(',PART-HOLD-BACK=0.600', '')],
    ['a HOLD-BACK of twice the target duration', ['strict', 'V2'], TEXT.replace('HOLD-BACK=3', 'HOLD-BACK=2')],
    ['fragmented MP4 without a map', ['V3'], TEXT.replace('#EXT-X-MAP:URI="init.mp4"\n', '')],
    ['no date', ['V6'], TEXT.replaceAll(/#EXT-X-PROGRAM-DATE-TIME.*\n/g, '')],
    [
      'a date that is 40 ms late',
      ['V6'],
      TEXT.replace('00:00:05.000Z', '00:00:05.040Z').replaceAll(/(0[6-9]|1\d)\.000Z/g, '$1.040Z'),
    ],
    [
      'a date that goes back at a discontinuity',
      ['V6'],
      TEXT.replace(
        '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:12',
        '#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:10',
      ),
    ],
    [
      'a discontinuity without a date',
      ['V6'],
      TEXT.replace(/#EXT-X-PROGRAM-DATE-TIME.*12.000Z/, '#EXT-X-DISCONTINUITY'),
    ],
    [
      'parts far from the end',
      ['strict'],
      TEXT.replace('#EXTINF:1.000,\ns8', `${TEXT.match(/(#EXT-X-PART:.*\n){5}/)?.[0]}#EXTINF:1.000,\ns8`),
    ],
    ['no hint', ['strict'], TEXT.replace(/#EXT-X-PRELOAD-HINT.*\n/, '')],
    ['a hint of a part that is listed', ['V8'], TEXT.replace('"p67.m4s"', '"p66.m4s"')],
    ['two hints', ['strict'], `${TEXT}#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p68.m4s"\n`],
    ['a segment above the target duration', ['strict', 'V6'], TEXT.replace('#EXTINF:1.000', '#EXTINF:2.000')],
  ])('finds %s', (_, rules, text) => {
    expect(judge(text).toSorted()).toEqual(rules.toSorted())
  })
})

const OTHER_INIT = '#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="other.mp4"'

describe('two playlists', () => {
  const judge = (before: string, after: string): Rule[] => rulesOf(checkSuccessor(read(before), read(after), 'v0'))
  const [BEFORE, AFTER] = [samplePlaylist(67), samplePlaylist(68)]

  test('good ones break no rule: a part later, a segment later, and with a discontinuity that leaves', () => {
    const withBreak = (made: number, segment: number) =>
      samplePlaylist(made).replace(
        new RegExp(`(#EXT-X-PROGRAM-DATE-TIME.*:0${segment}\\.)`),
        '#EXT-X-DISCONTINUITY\n$1',
      )
    expect(judge(BEFORE, AFTER)).toEqual([])
    expect(judge(samplePlaylist(69), samplePlaylist(70))).toEqual([])
    const [first, later] = [withBreak(69, 3), withBreak(70, 3).replace('SEQUENCE:3\n', 'SEQUENCE:4\n')]
    expect(
      judge(
        first.replace('DISCONTINUITY-SEQUENCE:3', 'DISCONTINUITY-SEQUENCE:2'),
        later.replace('DISCONTINUITY-SEQUENCE:4', 'DISCONTINUITY-SEQUENCE:3'),
      ),
    ).toEqual([])
    expect(judge(BEFORE, samplePlaylist(400).replace('DISCONTINUITY-SEQUENCE:3', 'DISCONTINUITY-SEQUENCE:9'))).toEqual(
      [],
    )
  })

  test.each<[string, Rule[], string]>([
    ['another target duration', ['V9'], AFTER.replace('TARGETDURATION:1', 'TARGETDURATION:2')],
    ['another part target', ['V9'], AFTER.replace('PART-TARGET=0.200', 'PART-TARGET=0.220')],
    ['another version', ['V9'], AFTER.replace('VERSION:9', 'VERSION:7')],
    ['another init segment under the same media', ['V10'], AFTER.replace('init.mp4', 'init-2.mp4')],
    [
      'a media sequence that falls',
      ['V10', 'V11'],
      samplePlaylist(60).replace('DISCONTINUITY-SEQUENCE:3', 'DISCONTINUITY-SEQUENCE:2'),
    ],
    ['another address of a segment', ['V10'], AFTER.replace('s8.m4s', 's8.m4s?t=2')],
    ['another duration of a segment', ['V10'], AFTER.replace('#EXTINF:1.000', '#EXTINF:1.001')],
    ['another date of a segment', ['V10'], AFTER.replace('00:00:05.000Z', '00:00:05.001Z')],
    [
      'a discontinuity number that falls',
      ['V11'],
      AFTER.replace('DISCONTINUITY-SEQUENCE:3', 'DISCONTINUITY-SEQUENCE:2'),
    ],
    [
      'a discontinuity number that falls over a restart',
      ['V11'],
      samplePlaylist(400).replace('DISCONTINUITY-SEQUENCE:3', 'DISCONTINUITY-SEQUENCE:0'),
    ],
    [
      'a discontinuity in segments that had none',
      ['V11'],
      AFTER.replace('#EXT-X-PROGRAM-DATE-TIME', '#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME'),
    ],
    ['a hint that does not come', ['V12'], AFTER.replace('"p67.m4s"', '"p67b.m4s"')],
  ])('finds %s', (_, rules, after) => {
    expect(judge(BEFORE, after)).toEqual(rules)
  })

  test('a date that moves to the new first segment is the same date', () => {
    const once = (text: string): string => {
      const at = text.indexOf('#EXTINF')
      return text.slice(0, at) + text.slice(at).replaceAll(/#EXT-X-PROGRAM-DATE-TIME.*\n/g, '')
    }
    expect(judge(once(samplePlaylist(69)), once(samplePlaylist(70)))).toEqual([])
  })

  test('finds an init segment that changes without a discontinuity', () => {
    const after = samplePlaylist(70).replace(/(#EXT-X-PROGRAM-DATE-TIME.*:13\.000Z)/, '#EXT-X-MAP:URI="other.mp4"\n$1')
    expect(judge(samplePlaylist(69), after)).toEqual(['V9'])
  })

  test('V12: a hint before another init segment never comes', () => {
    const changed = samplePlaylist(66).replace(/(#EXT-X-PROGRAM-DATE-TIME.*:13\.000Z)/, `$1\n${OTHER_INIT}`)
    expect(judge(samplePlaylist(65), changed)).toEqual(['V12'])
    expect(judge(samplePlaylist(65), changed.replace('p66', 'p67').replace('p65', 'p66'))).toEqual([])
  })

  test('V14: finds a playlist without news for one and a half target durations', () => {
    const rules = (seconds: number): Rule[] => rulesOf(checkNews(read(TEXT), seconds, 0, 'v0'))
    expect([rules(1.5), rules(1.6)]).toEqual([[], ['V14']])
    expect(checkNews(read(TEXT.replace('#EXTM3U', '#EXTM3U\n#EXT-X-ENDLIST')), 99, 0, 'v0')).toEqual([])
  })

  test('V16: a blocking answer holds what was asked for, at most a part late', () => {
    const judged = (msn: number, part: number, waited = true, graceParts = 0): Rule[] =>
      rulesOf(checkBlocking({ msn, part }, read(TEXT), { waited, graceParts }, 'v0'))
    expect([judged(13, 1), judged(13, 0), judged(12, 4, false)]).toEqual([[], [], []])
    expect([judged(13, 2), judged(14, 0), judged(12, 4)]).toEqual([['V16'], ['V16'], ['V16']])
    expect(judged(12, 4, true, 1)).toEqual([])
  })

  test('V25: finds text that differs between viewers', () => {
    expect(checkSameText(TEXT, TEXT, 'v0')).toEqual([])
    expect(checkSameText(TEXT, TEXT.replace('s8.m4s', 's8.m4s?t=2'), 'v0')).toEqual([
      { rule: 'V25', where: 'v0 line 27', expected: 'the same for all viewers: s8.m4s', found: 's8.m4s?t=2' },
    ])
  })
})
