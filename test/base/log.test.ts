import { describe, expect, test } from 'vitest'
import { createLogger, type LoggerOptions } from '../../src/base/log.ts'

function capture(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ level: 'debug', format: 'json', destination, ...options })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> }
}

const SECRET = 'hunter2hunter2'

describe('a line', () => {
  test('has a time, a level, a message and its fields, and nothing else', () => {
    const { log, last } = capture()
    log.info({ tokenId: 7 }, 'token made')
    const { time, ...rest } = last()
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(rest).toEqual({ level: 'info', message: 'token made', tokenId: 7 })
  })

  test('below the level is not written', () => {
    const { log, lines } = capture({ level: 'warn' })
    log.debug({}, 'a')
    log.info({}, 'b')
    log.warn({}, 'c')
    log.error({}, 'd')
    expect(lines).toHaveLength(2)
  })

  test('of a child carries the fields of its parents, such as the request id', () => {
    const { log, last } = capture()
    log.child({ requestId: 'r1', part: 'edge' }).child({ part: 'store' }).info({ n: 1 }, 'x')
    expect(last()).toMatchObject({ requestId: 'r1', part: 'store', n: 1 })
  })

  test('contains an error with its code and its causes', () => {
    const { log, last } = capture()
    const cause = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
    log.error({ err: Object.assign(new TypeError('cannot write', { cause }), { code: 'EIO' }) }, 'x')
    expect(last()['err']).toMatchObject({ type: 'TypeError', message: 'cannot write: disk full', code: 'EIO' })
    expect(last()['err']).toMatchObject({ stack: expect.stringMatching(/TypeError: cannot write[^]*Error: disk full/) })
    log.error({ err: 'a text' }, 'x')
    expect(last()['err']).toBe('a text')
  })

  test('has once what an error and its cause both say', () => {
    const { log, last } = capture()
    const says = (words: string, cause: string) => {
      log.warn({ err: new Error(words, { cause: new Error(cause) }) }, 'x')
      return last()['err']
    }
    expect(says('it starts', 'it starts')).toMatchObject({ message: 'it starts' })
    expect(says('it is away', 'it starts')).toMatchObject({ message: 'it is away: it starts' })
  })

  test('is bounded, and survives circles, big integers, bytes and broken dates', () => {
    const { log, lines } = capture()
    const circle: Record<string, unknown> = { big: 1n, bytes: Buffer.alloc(1000), date: new Date(Number.NaN) }
    circle['self'] = circle
    log.info({ circle, long: 'x'.repeat(1e6), many: Array.from({ length: 1e5 }, () => 'y') }, 'z'.repeat(1e6))
    expect(lines).toHaveLength(1)
    expect(lines[0]?.length).toBeLessThan(20_000)
  })
})

/** C1 control sequence, direction of text, line separator, a tag beyond the basic plane. */
const ODD = 'a\u009b31mred\u007f\u202egnp\u2028b\u{e0041}c'
// oxlint-disable-next-line no-control-regex -- what a terminal must not get
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/u

describe.each(['json', 'pretty'] as const)('a text of a client in a line that is %s', (format) => {
  test('controls no terminal: not with C1 controls and not with the direction of text, which JSON leaves as they are', () => {
    const { log, lines } = capture({ format })
    log.info({ userAgent: ODD, list: [ODD] }, `from ${ODD}`)
    expect(lines.join('')).not.toMatch(CONTROLS)
    expect(lines.join('')).toContain('\\u009b31mred\\u007f\\u202egnp\\u2028b\\udb40\\udc41c')
  })
})

test('a line of JSON has the same values as before the escapes', () => {
  const { log, last } = capture()
  log.info({ userAgent: ODD }, 'x')
  expect(last()).toMatchObject({ userAgent: ODD })
})

describe('a secret never appears', () => {
  test.each([
    'token',
    'secret',
    'authorization',
    'Authorization',
    'password',
    'value',
    'cookie',
    'set-cookie',
    'auth',
    'tokens',
    'apiSecret',
    'api_key',
    'newPassword',
    'sealingKey',
    'publish-token',
    'credentials',
    'srtPassphrase',
    'TOKEN',
  ])('under the name %s, at any depth, in children and errors', (name) => {
    const { log, lines, last } = capture()
    log.child({ [name]: SECRET }).warn({ [name]: [SECRET], deep: [{ er: { [name]: { a: SECRET } } }] }, 'x')
    log.error({ error: new Error('x', { cause: { [name]: SECRET } }) }, 'x')
    expect(lines.join('')).not.toContain(SECRET)
    expect(last()).toMatchObject({ error: { cause: { [name]: '[hidden]' } } })
  })

  test.each([
    `GET /live/a.m3u8?auth=${SECRET}&x=1`,
    `https://host/?x=1&token=${SECRET}`,
    `srt://host:10000?streamid=show&passphrase=${SECRET}`,
    `https://host/recordings/a/b.mp4?expires=1&signature=${SECRET}`,
    `Authorization: Bearer ${SECRET}`,
    `Basic ${Buffer.from(SECRET).toString('base64')}`,
    `postgres://sluice:${SECRET}@db:5432/sluice`,
  ])('inside of a text: %s', (text) => {
    const { log, lines } = capture()
    log.info({ url: text, error: new Error(text) }, text)
    expect(lines.join('')).not.toContain(SECRET)
    expect(lines.join('')).not.toContain(Buffer.from(SECRET).toString('base64'))
  })

  test('when it looks like one of ours, anywhere in a text', () => {
    const { log, lines } = capture()
    const value = 'ab'.repeat(32)
    log.info({ note: `is ${value}.`, other: { list: [value] } }, value)
    expect(lines.join('')).not.toContain(value)
  })

  test('but ids and empty values do', () => {
    const { log, last } = capture()
    const fields = { tokenId: 1, secretId: 2, tokenKind: 'publish', password: '', token: null, streamName: 'show' }
    log.info(fields, 'x')
    expect(last()).toMatchObject(fields)
  })
})

describe('the pretty format', () => {
  test('is one line of plain text', () => {
    const { log, lines } = capture({ format: 'pretty' })
    log.warn({ requestId: 'r1', count: 2 }, 'slow store')
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}slow store {2}requestId=r1 {2}count=2\n$/)
  })

  test('prevents forged lines and terminal control sequences', () => {
    const { log, lines } = capture({ format: 'pretty' })
    log.info({ name: 'a\n12:00 ERROR forged' }, 'x\u001b[2J\r\ny')
    expect(lines.join('').split('\n')).toHaveLength(2)
    expect(lines.join('')).not.toContain('\u001b')
  })
})
