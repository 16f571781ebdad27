import { describe, expect, it } from 'vitest'
import { details, detailsText, fields, table } from '../../src/cli/print.ts'

describe('table', () => {
  it('aligns columns and leaves no spaces at the end of a line', () => {
    expect(
      table(
        ['id', 'name'],
        [
          ['1', 'a'],
          ['100', 'long name'],
        ],
      ),
    ).toBe('id   name\n1    a\n100  long name')
  })

  it('shows control and direction characters of foreign text as replacement characters', () => {
    expect(table(['name'], [['a\u001b[2Jb\u202ec\nd']])).toBe('name\na\uFFFD[2Jb\uFFFDc\uFFFDd')
    expect(fields({ label: 'a\u001bb' })).toBe('label  a\uFFFDb')
  })
})

describe('fields', () => {
  it('leaves out empty values and joins lists', () => {
    expect(fields({ id: 7, none: [], gone: undefined, origins: ['a', 'b'] })).toBe('id       7\norigins  a, b')
  })
})

describe('details', () => {
  const token = {
    id: 7,
    streams: [
      { streamName: 'show', isRegex: false },
      { streamName: 'cam-[0-9]+', isRegex: true },
    ],
    effectiveSettings: { allowedCountries: ['DE', 'FR'], geo: { isEnabled: false }, none: [] },
    origins: [],
    label: 'Studio',
  }
  const engine = { id: 'en_1', restream: [{ url: 'rtmp://a', keys: [{ name: 'a' }] }, { url: 'rtmp://b' }], input: {} }

  it('has no JSON for people: alike records are a table, and others are below their names', () => {
    expect(detailsText(details(token, [['engine', engine]]), true).split('\n')).toEqual([
      'id     7',
      'label  Studio',
      'streams',
      '  streamName  isRegex',
      '  show        false',
      '  cam-[0-9]+  true',
      'effectiveSettings',
      '  allowedCountries  DE, FR',
      '  geo',
      '    isEnabled  false',
      '',
      'engine',
      'id  en_1',
      'restream',
      '  - url  rtmp://a',
      '    keys',
      '      name',
      '      a',
      '  - url  rtmp://b',
    ])
  })

  it('is one line for each value in a pipe, where a program reads it', () => {
    expect(detailsText(details(token, [['engine', { id: 'en_1' }]]), false)).toBe(
      `${fields(token)}\n\nengine\n${fields({ id: 'en_1' })}`,
    )
    expect(fields(token)).toContain('{"streamName":"show","isRegex":false}, {"streamName"')
  })
})
