import { describe, expect, test } from 'vitest'
import { BodyReader } from '../../../src/core/validation/bodyReader.ts'
import { canonicalList, canonicalStreams, checkCountries, namesToRemove } from '../../../src/core/tokens/canonical.ts'
import { Problems } from '../../../src/core/validation/problems.ts'

function using<T>(body: object, work: (reader: BodyReader<object>) => T) {
  const problems = new Problems()
  const value = work(new BodyReader(body, problems))
  const settled = problems.settle(null)
  return { value, errors: settled.ok ? null : settled.error }
}

describe('the lists of a token', () => {
  test('are canonical, each entry once, in the order of the body', () => {
    const lists = {
      allowedOrigins: ['Example.com', 'example.com', 'https://b.example'],
      allowedIpAddresses: ['192.0.2.7/24', '192.0.2.0/24', '192.0.2.1'],
      deniedCountries: ['nl', 'NL', 'BE'],
    }
    const of = (name: keyof typeof lists) => using(lists, (reader) => canonicalList(reader, name))
    expect(of('allowedOrigins')).toEqual({ value: ['example.com', 'https://b.example'], errors: null })
    expect(of('deniedCountries')).toEqual({ value: ['NL', 'BE'], errors: null })
    expect(new Set(of('allowedIpAddresses').value).size).toBe(of('allowedIpAddresses').value?.length)
    expect(using({}, (reader) => canonicalList(reader, 'allowedOrigins')).value).toBeUndefined()
    expect(using({ allowedOrigins: null }, (reader) => canonicalList(reader, 'allowedOrigins')).value).toBeUndefined()
  })

  test('have their wrong entries named by index', () => {
    const body = { allowedCountries: ['NL', 'x1'], allowedIpAddresses: ['nowhere'] }
    const { errors, value } = using(body, (reader) => [
      canonicalList(reader, 'allowedCountries'),
      canonicalList(reader, 'allowedIpAddresses'),
    ])
    expect(value).toEqual([['NL'], []])
    expect(Object.keys(errors ?? {})).toEqual(['allowedCountries[1]', 'allowedIpAddresses[0]'])
  })

  test('of countries exclude each other', () => {
    const errorsOf = (lists: Parameters<typeof checkCountries>[0]) =>
      using({}, ({ problems }) => checkCountries(lists, problems)).errors
    expect(errorsOf({ allowedCountries: ['NL'], deniedCountries: ['BE'] })).toHaveProperty('deniedCountries')
    for (const lists of [{}, { allowedCountries: ['NL'], deniedCountries: [] }, { deniedCountries: ['NL'] }])
      expect(errorsOf(lists)).toBeNull()
  })
})

describe('the streams of a token', () => {
  test('are names or patterns, each once', () => {
    const streams = [{ streamName: 'b(' }, { streamName: 'a[0-9]', isRegex: true }, { streamName: 'c', isRegex: null }]
    expect(using({ streams }, (reader) => canonicalStreams(reader, 'streams'))).toEqual({
      value: [
        { streamName: 'b(', isRegex: false },
        { streamName: 'a[0-9]', isRegex: true },
        { streamName: 'c', isRegex: false },
      ],
      errors: null,
    })
  })

  test('have what is wrong with them named', () => {
    const streams = [
      { streamName: '(', isRegex: true },
      { streamName: 'a' },
      { streamName: 'a' },
      { streamName: 'a\u0007' },
    ]
    const { value, errors } = using({ streams }, (reader) => canonicalStreams(reader, 'streams'))
    expect(value).toEqual([{ streamName: 'a', isRegex: false }])
    expect(Object.keys(errors ?? {})).toEqual([
      'streams[0].streamName',
      'streams[2].streamName',
      'streams[3].streamName',
    ])
    expect(errors?.['streams[2].streamName']).toEqual(['a is listed twice; names are unique within a token'])
  })

  test('have patterns that take no second to compile and to compare, however they are made', () => {
    const patterns = (make: (n: number) => string) =>
      Array.from({ length: 1000 }, (_, n) => ({ streamName: make(n), isRegex: true }))
    const errorsOf = (make: (n: number) => string) =>
      using({ streams: patterns(make) }, (reader) => canonicalStreams(reader, 'streams')).errors
    const tooMany = { streams: [expect.stringContaining('more than 20000 steps together')] }
    expect(errorsOf((n) => `camera-${n}-[0-9]+`)).toBeNull()
    expect(errorsOf((n) => `(.*a|.*b|.*c){20}.{40}${n}`)).toEqual(tooMany)
    expect(errorsOf((n) => `(?i:${'\\pL'.repeat(29)})${n}`)).toEqual(tooMany)
    // Each of these takes milliseconds before it is refused.
    expect(Object.keys(errorsOf((n) => `(?i)\\pL{600}${n}`) ?? {})).toHaveLength(11)
  })

  test('are removed by name, each once', () => {
    const removeTokenStreams = ['b', { streamName: 'a' }, 'b']
    const { value, errors } = using({ removeTokenStreams }, namesToRemove)
    expect([value, Object.keys(errors ?? {})]).toEqual([['b', 'a'], ['removeTokenStreams[2]']])
  })
})
