import { describe, expect, test } from 'vitest'
import { LOGGED_CODES } from '../../../src/core/access/logQuery.ts'
import { allKeys } from '../../../src/config/schema.ts'
import { CHECKS } from '../../../src/core/examination.ts'
import { SENTENCES } from '../../../src/core/examinationSentences.ts'
import { coded, NOTICES } from '../../../src/core/notices.ts'
import { toPauseRecord } from '../../../src/core/webhooks/route.ts'
import { exitSentence } from '../../../src/media/ffmpeg/exits.ts'
import { channelDe } from '../../../web/dashboard/src/words/channelDe.ts'
import { channelEn } from '../../../web/dashboard/src/words/channelEn.ts'
import { complete, isolating } from '../../../web/dashboard/src/words/complete.ts'
import { de } from '../../../web/dashboard/src/words/de.ts'
import { configurationDe } from '../../../web/dashboard/src/words/configurationDe.ts'
import { doctorDe } from '../../../web/dashboard/src/words/doctorDe.ts'
import { en } from '../../../web/dashboard/src/words/en.ts'
import { firstSpoken } from '../../../web/dashboard/src/words/language.ts'
import { sayIn } from '../../../web/dashboard/src/words/noticeSentences.ts'
import { noticesDe } from '../../../web/dashboard/src/words/noticesDe.ts'
import { settingsDe } from '../../../web/dashboard/src/words/settingsDe.ts'
import { settingsEn } from '../../../web/dashboard/src/words/settingsEn.ts'

const LANGUAGES = { de: { ...de, ...channelDe, ...settingsDe } }

/** Sentences that wait for their translation, as `section.name`. The pages show them in English meanwhile. */
const WAITING: readonly string[] = []
/** The same for keys of the configuration. */
const WAITING_KEYS: readonly string[] = []

type Leaf = string | ((...args: unknown[]) => string)

/** Every sentence by its name. */
function leavesOf(words: object, path = ''): [name: string, leaf: Leaf][] {
  return Object.entries(words).flatMap(([key, value]: [string, object | Leaf]) =>
    typeof value === 'object' ? leavesOf(value, `${path}${key}.`) : [[`${path}${key}`, value] as const],
  ) as [string, Leaf][]
}

/** Stands for an argument, a text or a list, and can be found in the sentence. */
class Marker extends String {
  join(): string {
    return String(this)
  }
}
const MARKERS = ['«a»', '«b»', '«c»', '«d»']

/** Which arguments a sentence shows. */
function shown(leaf: Leaf): string[] {
  if (typeof leaf === 'string') return []
  const sentence = leaf(...MARKERS.map((text) => new Marker(text)))
  return MARKERS.filter((marker) => sentence.includes(marker))
}

const english = leavesOf({ ...en, ...channelEn, ...settingsEn })

describe.each(Object.entries(LANGUAGES))('the translation %s', (_name, translation) => {
  const translated = new Map(leavesOf(translation))

  test('has every sentence; add those that wait to WAITING', () => {
    expect(english.map(([name]) => name).filter((name) => !translated.has(name))).toEqual(WAITING)
  })

  test('shows every argument of every sentence', () => {
    const other = english.filter(([name, leaf]) => {
      const own = translated.get(name)
      return own !== undefined && shown(own).join() !== shown(leaf).join()
    })
    expect(other.map(([name]) => name)).toEqual([])
    expect(english.filter(([, leaf]) => shown(leaf).length > 0).length).toBeGreaterThan(80)
  })

  test('has a locale of its own, for dates and numbers', () => {
    expect(Intl.DateTimeFormat.supportedLocalesOf([translation.locale ?? ''])).toHaveLength(1)
    expect(translation.locale).not.toBe(en.locale)
  })
})

test('a sentence that a translation lacks is shown in English, also in a list', () => {
  const all = { a: 'one', b: { c: 'two', d: 'three' }, list: [{ name: 'x', note: 'y' }, { name: 'z' }] }
  const part = { b: { d: 'drei' }, list: [{ name: 'ix' }] }
  expect(complete<object>(all, part)).toEqual({
    a: 'one',
    b: { c: 'two', d: 'drei' },
    list: [{ name: 'ix', note: 'y' }, { name: 'z' }],
  })
})

test('a name in a sentence keeps the direction of its text to itself; others stay as they are', () => {
  const said = isolating({ a: { ended: (name: string, n: number) => `${name} ended ${n}` }, list: ['x'] })
  expect(said.list).toEqual(['x'])
  expect(said.a.ended('morning', 2)).toBe('morning ended 2')
  for (const name of ['\u202Eabc', 'مفتاح', 'שלום']) expect(said.a.ended(name, 2)).toBe(`\u2068${name}\u2069 ended 2`)
})

test.each([
  ['the checks of the server find', doctorDe.sentences, SENTENCES],
  ['needs attention, and what engines say,', noticesDe, NOTICES],
])('what %s is said in German with all that the English sentence shows', (_what, german, english) => {
  const valuesIn = (sentences: Readonly<Record<string, string>>) =>
    Object.entries(sentences).map(([code, sentence]) => [code, sentence.match(/\{\w+\}/g)?.toSorted() ?? []])
  expect(valuesIn(german)).toEqual(valuesIn(english))
})

test('why a webhook is paused and why an engine failed is said in German', () => {
  const failure = coded('request_status', { status: 503 })
  const { reason, sentences } = toPauseRecord({
    untilMs: 0,
    reason: [coded('deliveries_failed', { count: 100 }), failure],
  })
  expect(reason).toBe('100 deliveries in a row failed; the last: the receiver answered with status 503')
  expect(sayIn(noticesDe, sentences)).toBe(
    '100 Zustellungen hintereinander sind gescheitert; die letzte: der Empfänger hat mit Status 503 geantwortet',
  )
  const exit = { code: 1, signal: null, tail: 'Invalid data' }
  expect(sayIn(noticesDe, [exitSentence(exit)])).toBe('ffmpeg endete mit 1: Invalid data')
})

test('each check of the server has a German name', () => {
  expect(Object.keys(doctorDe.checks)).toEqual(CHECKS)
})

test('each key of the configuration is described in German; add those that wait to WAITING_KEYS', () => {
  const keys = allKeys().map(([path]) => path)
  expect(keys.filter((path) => configurationDe[path] === undefined)).toEqual(WAITING_KEYS)
  expect(Object.keys(configurationDe).filter((path) => !keys.includes(path))).toEqual([])
})

test('the language is the first of the browser that the pages speak', () => {
  expect(firstSpoken(['', 'fr-CH', 'de-CH', 'en'])).toBe('de')
  expect(firstSpoken(['EN-us', 'de'])).toBe('en')
  expect(firstSpoken(['deaf', 'fr'])).toBe('en')
  expect(firstSpoken([])).toBe('en')
})

test('each reason of a refusal has words, in one table', () => {
  expect(Object.keys(en.access.codes).toSorted()).toEqual(LOGGED_CODES.toSorted())
})
