import { globSync, readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { compilePattern } from '../../../src/core/access/streamName.ts'
import { readShape } from '../../../src/core/validation/bodyReader.ts'
import { Problems } from '../../../src/core/validation/problems.ts'
import { mediaProblemsDe } from '../../../web/dashboard/src/words/mediaProblemsDe.ts'
import { sayRefusalIn } from '../../../web/dashboard/src/words/refusalSentences.ts'
import { inWords } from '../../../web/dashboard/src/words/refusalWords.ts'
import { refusalsDe } from '../../../web/dashboard/src/words/refusalsDe.ts'

const inGerman = sayRefusalIn(refusalsDe)

/** What the server says of one field of a body. */
function refusal(schema: Parameters<typeof Type.Object>[0][string], body: object): string {
  const problems = new Problems()
  readShape(Type.Object({ field: schema }), body, problems)
  const settled = problems.settle(null)
  return settled.ok ? '' : (settled.error['field']?.[0] ?? '')
}

test('what the server says about types is said to people', () => {
  const name = Type.String({ minLength: 1, maxLength: 128 })
  const list = Type.Array(name, { minItems: 1, maxItems: 3 })
  const said = [
    refusal(name, { field: '' }),
    refusal(name, {}),
    refusal(Type.Union([name, Type.Null()]), { field: '' }),
    refusal(list, { field: [] }),
    refusal(list, { field: ['a', 'b', 'c', 'd'] }),
    refusal(Type.Integer({ minimum: 1, maximum: 9 }), { field: 10 }),
  ]
  expect(said.map(inWords)).toEqual([
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Add at least 1.',
    'There are 4, and 3 are possible.',
    'Write a whole number from 1 to 9.',
  ])
  expect(inWords('must begin with https://')).toBeNull()
})

test('a refusal is said in German with its values, and one in another is, too', () => {
  expect(inGerman('must not use port 25')).toBe('darf Port 25 nicht benutzen')
  expect(
    inGerman('wildcards are not supported; an IPv4 address (192.0.2.7) or an IPv4 network (192.0.2.0/24) is allowed'),
  ).toBe('Platzhalter sind nicht möglich; möglich ist eine IPv4-Adresse (192.0.2.7) oder ein IPv4-Netz (192.0.2.0/24)')
  expect(inGerman('a sentence of a newer server')).toBe('a sentence of a newer server')
})

test.each(['a[', 'a{2000}', 'a**', '*a', '(?P<n', '(a', 'a)', 'a\\', '\\y', '(?<=a)', '\\1', 'a{1,500}b{1,500}'])(
  'what is wrong with the pattern %s is said in German alone',
  (pattern) => {
    const compiled = compilePattern(pattern)
    expect(compiled.ok).toBe(false)
    const said = inGerman(compiled.ok ? '' : compiled.error)
    expect(said).not.toMatch(/\b(?:the|not|is|are|missing|invalid|at|to)\b/)
  },
)

/** The sentences in the code of some files. */
function literalsOf(sources: readonly string[]): string {
  const literals = sources.flatMap((source) => source.match(/'(?:[^'\\\n]|\\.)*'|"[^"\n]*"|`[^`]*`/g) ?? [])
  return literals
    .filter((one) => one.includes(' '))
    .join('\n')
    .replaceAll(/\\(['`])/g, '$1')
}

const sourcesOf = (pattern: string) => globSync(pattern).map((file) => readFileSync(file, 'utf8'))

test.each([
  [
    'refusal',
    refusalsDe,
    'src/{core,commands,app,edge}/**/*.ts',
    [readFileSync('node_modules/re2js/build/index.js', 'utf8')],
  ],
  ['problem of media', mediaProblemsDe, 'src/media/**/*.ts', []],
])('each %s that has a translation is one of the server', (_what, table, pattern, others) => {
  const all = literalsOf([...sourcesOf(pattern), ...others])
  const parts = (english: string) => english.split(/\{\w+\}|[:;,] /).map((part) => part.trim().replace(/[:;,(]$/, ''))
  const gone = Object.keys(table).filter((english) => !parts(english).every((part) => all.includes(part)))
  expect(gone).toEqual([])
})

test('what is left out of a broadcast, and what is wrong with its protocol, has a translation', () => {
  const inGermanMedia = sayRefusalIn(mediaProblemsDe)
  const said = sourcesOf('src/media/{rtmp,mpegts,srt}/*.ts').flatMap((source) =>
    [...source.matchAll(/(?:leftOut|note|drop|damaged|fail|err)\((?:'([^']* [^']*)'|`([^`?]* [^`?]*)`)\)/g)].map(
      ([, plain, filled]) =>
        plain ?? filled?.replaceAll(/\$\{alternatives[^}]*\}/g, 'X or X').replaceAll(/\$\{[^}]*\}+/g, 'X') ?? '',
    ),
  )
  expect(said.length).toBeGreaterThan(15)
  expect(said.filter((english) => inGermanMedia(english) === english)).toEqual([])
})

test('what a server answers over WHIP or WHEP that cannot be used is said in German', () => {
  const inGermanMedia = sayRefusalIn(mediaProblemsDe)
  const said = [
    ['it sends nothing: no audio or video of it is sendonly or sendrecv.', /^sie sendet nichts: /],
    [
      'it sends video as H261, which is not served; send H.264, VP8 or AV1.',
      /^sie sendet Video als H261; .* H.264, VP8 und AV1.$/,
    ],
    ["The stream's audio is Opus, which it does not receive.", /^sie empfängt Opus nicht \(Ton/],
    ["The stream's video is H.264, and it does not ask for video.", /^sie fragt nicht nach Video/],
    [
      "The stream's video is HEVC, which it does not receive. Browsers that do: Safari. To receive the audio only, omit the video.",
      /^sie empfängt HEVC nicht .*Browser, die das können: Safari\. Ohne Video geht es mit Ton allein/,
    ],
    ['it sends AV1 with profile=1, and only profile=0 is served.', /^sie sendet AV1 mit profile=1, möglich ist nur /],
    ['Line 3 of the SDP is not of the form <letter>=<value>.', /^Zeile 3 ihres SDP hat nicht die Form/],
    [
      'it has a malformed a=mid in m-line 2; each needs one of 1 to 64 letters, digits and characters of "_.+~-".',
      /^sie hat ein fehlerhaftes a=mid in m-Zeile 2/,
    ],
    [
      'it has no a=ice-pwd; the session or m-line 1 needs one of 22 to 256 letters, digits, "+" and "/" (RFC 8839 section 5.4).',
      /^sie hat kein a=ice-pwd; .* 1 braucht eines aus 22 bis 256 Buchstaben/,
    ],
    ['The video of it must be UDP/TLS/RTP/SAVPF, but is RTP/AVP.', /^Video muss darin/],
  ] as const
  for (const [english, german] of said) expect(inGermanMedia(english)).toMatch(german)
})
