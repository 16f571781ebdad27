import { describe, expect, it } from 'vitest'
import { command } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import type { Host } from '../../src/cli/host.ts'
import { type Columns, CSV_FLAG, listing, record, records } from '../../src/cli/listing.ts'
import { widthOf } from '../../src/cli/width.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { ok } from '../../src/base/result.ts'
import { run } from './fakeHost.ts'

interface Row {
  id: string
  name: string
  bytes?: number
  bitrate: number
  since: string
}

const COLUMNS: Columns<Row> = {
  id: ['key', ({ id }) => id],
  name: ['text', ({ name }) => name],
  out: ['bytes', ({ bytes }) => bytes],
  rate: ['bitrate', ({ bitrate }) => bitrate],
  since: ['since', ({ since }) => since],
}

const NOW = Date.parse('2026-01-31T12:00:00.000Z')
const ROWS: readonly Row[] = [
  { id: 'a1', name: 'Studio "1", main', bytes: 1_234_567, bitrate: 2_500_000, since: '2026-01-31T10:17:52.000Z' },
  { id: 'b2', name: '=1+1', bitrate: 0, since: '2026-01-28T10:00:00.000Z' },
]

const list = (rows: readonly Row[]) => ({ json: rows, text: listing(COLUMNS, rows) })

/** Prints the rows as a command does that lists them. */
async function printed(
  rows: readonly Row[],
  { flags = [], columns, answer = list }: { flags?: string[]; columns?: number; answer?: typeof list },
): Promise<string> {
  const things = command({
    path: ['things'],
    summary: 'List things',
    flags: CSV_FLAG,
    examples: ['sluice things', 'sluice things --csv'],
    run: async () => ok(answer(rows)),
  })
  const terminal: Host['terminal'] = () => (columns === undefined ? null : { columns, rows: 24 })
  const { status, stdout, stderr } = await run(['things', ...flags], { terminal, clock: new ManualClock(NOW) }, [
    things,
  ])
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

describe('a list', () => {
  it('has exact values in a pipe, in columns as wide as they need', async () => {
    expect(await printed(ROWS, {})).toBe(
      [
        'id  name              out      rate     since',
        'a1  Studio "1", main  1234567  2500000  2026-01-31T10:17:52.000Z',
        'b2  =1+1                       0        2026-01-28T10:00:00.000Z',
        '',
      ].join('\n'),
    )
  })

  it('has sizes, rates and ages for people on a terminal', async () => {
    expect(await printed(ROWS, { columns: 80 })).toBe(
      [
        'id  name              out      rate        since',
        'a1  Studio "1", main  1.23 MB  2.5 Mbit/s  1:42:08',
        'b2  =1+1                       0 bit/s     3 d 2 h',
        '',
      ].join('\n'),
    )
  })

  it('takes the place of a terminal from its texts, the widest first, and never wraps', async () => {
    const shown = await printed(ROWS, { columns: 44 })
    expect(shown.split('\n')[1]).toBe('a1  Studio "1…  1.23 MB  2.5 Mbit/s  1:42:08')
    for (const columns of [1, 5, 20, 43, 44, 60]) {
      const lines = (await printed(ROWS, { columns })).split('\n')
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns)
    }
  })

  it('has a sentence in its row where there is room, and otherwise all of it below', async () => {
    const columns: Columns<Row> = {
      id: ['key', ({ id }) => id],
      'next try': ['until', ({ since }) => since],
      problem: ['sentence', ({ name }) => name],
    }
    const name = 'The source refuses the user or the password'
    const rows = [
      { ...ROWS[0]!, name, since: '2026-01-31T12:00:09.000Z' },
      { ...ROWS[1]!, name: '' },
    ]
    const answer = (all: readonly Row[]) => ({ json: all, text: listing(columns, all) })
    expect(await printed(rows, { answer, columns: 80 })).toBe(
      ['id  next try  problem', `a1  0:00:09   ${name}`, 'b2  0:00:00', ''].join('\n'),
    )
    expect(await printed(rows, { answer, columns: 30 })).toBe(
      ['id  next try', 'a1  0:00:09', '    The source refuses the', '    user or the password', 'b2  0:00:00', ''].join(
        '\n',
      ),
    )
    for (const width of [1, 5, 12]) {
      const lines = (await printed(rows, { answer, columns: width })).split('\n')
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width)
    }
  })

  it('has columns without room below their rows, each with its heading, and never half a number', async () => {
    const columns: Columns<Row> = {
      id: ['key', ({ id }) => id],
      name: ['text', ({ name }) => name],
      viewers: ['text', ({ bytes }) => bytes],
      since: ['since', ({ since }) => since],
      url: ['key', ({ id }) => `https://${id}.example.com:8443`],
    }
    const answer = (all: readonly Row[]) => ({ json: all, text: listing(columns, all) })
    expect(await printed(ROWS, { answer, columns: 40 })).toBe(
      [
        'id  name              viewers  since',
        'a1  Studio "1", main  1234567  1:42:08',
        '    url: https://a1.example.com:8443',
        'b2  =1+1                       3 d 2 h',
        '    url: https://b2.example.com:8443',
        '',
      ].join('\n'),
    )
    expect((await printed(ROWS, { answer, columns: 24 })).split('\n').slice(0, 4)).toEqual([
      'id  name         viewers',
      'a1  Studio "1"…  1234567',
      '    since: 1:42:08; url:',
      '    https://a1.example.…',
    ])
  })

  it('says what is wrong with a record above it, folded, since --watch cuts lines and leaves out the last ones', async () => {
    const above = 'link_slow: media comes later and later\n  Set three quarters of the upload'
    const answer = (all: readonly Row[]) => ({ json: all, text: records(COLUMNS, all, () => above) })
    expect(await printed(ROWS.slice(0, 1), { answer })).toMatch(new RegExp(`^${above}\n\nid `))
    expect(await printed(ROWS.slice(0, 1), { answer, columns: 26 })).toMatch(
      /^link_slow: media comes\nlater and later\n  Set three quarters of\n  the upload\n\nid /,
    )
  })

  it('never cuts an id in favour of another column', async () => {
    const [, line] = (await printed([{ ...ROWS[0]!, id: '1Cv2nDq8PzUeZ5oYyZ3kQw' }], { columns: 32 })).split('\n')
    expect(line).toBe('1Cv2nDq8PzUeZ5oYyZ3kQw  Studio …')
  })

  it('counts wide characters as the terminal does', async () => {
    const rows = ['東京スタジオ', '📺 live', 'плоский', 'ａｂ'].map((name) => ({ ...ROWS[1]!, name }))
    const lines = (await printed(rows, {})).trimEnd().split('\n')
    const column = lines.map((line) => widthOf(line.slice(0, line.search(/(rate|0) /))))
    expect(new Set(column).size).toBe(1)
    const [, cutLine] = (await printed(rows, { columns: 36 })).split('\n')
    expect(cutLine).toBe('b2  東京スタ…       0 bit/s  3 d 2 h')
  })

  it('is as comma-separated values exact on a terminal too, and no formula for a spreadsheet', async () => {
    const expected = [
      'id,name,out,rate,since',
      'a1,"Studio ""1"", main",1234567,2500000,2026-01-31T10:17:52.000Z',
      "b2,'=1+1,,0,2026-01-28T10:00:00.000Z",
      '',
    ].join('\r\n')
    expect(await printed(ROWS, { flags: ['--csv'] })).toBe(expected)
    expect(await printed(ROWS, { flags: ['--csv'], columns: 20 })).toBe(expected)
  })

  it('does not let a text control the terminal, as comma-separated values neither', async () => {
    const rows = [{ ...ROWS[0]!, name: 'a\u001b[2J' }]
    for (const flags of [[], ['--csv']]) expect(await printed(rows, { flags, columns: 80 })).not.toContain('\u001b')
  })

  it('has headings without rows', async () => {
    expect(await printed([], { columns: 80 })).toBe('id  name  out  rate  since\n')
    expect(await printed([], { flags: ['--csv'] })).toBe('id,name,out,rate,since\r\n')
  })

  it('of a hundred thousand rows is printed', async () => {
    const rows = Array.from({ length: 100_000 }, () => ROWS[1]!)
    expect((await printed(rows, { columns: 80 })).length).toBeGreaterThan(1_000_000)
  })
})

describe('a record', () => {
  const answer = ([row]: readonly Row[]) => ({ json: row as never, text: record(COLUMNS, row!) })

  it('has a line for each value, and is one row of comma-separated values', async () => {
    expect(await printed(ROWS.slice(1), { answer })).toBe(
      'id     b2\nname   =1+1\nrate   0\nsince  2026-01-28T10:00:00.000Z\n',
    )
    expect(await printed(ROWS.slice(1), { answer, columns: 80 })).toContain('\nsince  3 d 2 h\n')
    expect((await printed(ROWS.slice(1), { answer, flags: ['--csv'] })).split('\r\n')).toHaveLength(3)
  })
})

describe('--csv', () => {
  it('is a flag of every list', () => {
    const lists = COMMANDS.filter(({ summary }) => summary.startsWith('List '))
    expect(lists.length).toBeGreaterThan(10)
    expect(lists.filter(({ flags }) => flags['csv'] === undefined).map(({ path }) => path.join(' '))).toEqual([])
  })

  it('excludes --json', async () => {
    const { status, stdout, stderr } = await run(['account', 'list', '--csv', '--json'])
    expect([status, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr)).toEqual({ code: 'usage', message: '--json and --csv exclude each other' })
  })
})
