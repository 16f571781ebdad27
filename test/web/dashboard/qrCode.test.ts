import { generate } from 'lean-qr'
import { describe, expect, test } from 'vitest'
import { isOwnMachine } from '../../../web/dashboard/src/addresses.ts'
import { pathOf } from '../../../web/dashboard/src/parts/qrPath.ts'

/** The dark modules of a path, as `x y`. */
const modulesOf = (path: string): string[] =>
  [...path.matchAll(/M(\d+) (\d+)h(\d+)v1H(\d+)z/g)].flatMap(([, x, y, length, back]) => {
    expect(back).toBe(x)
    return Array.from({ length: Number(length) }, (_, at) => `${Number(x) + at} ${y}`)
  })

describe('the QR code', () => {
  test('draws exactly the dark modules of the code', () => {
    const code = generate('https://tv.example.com/watch/chb4x3/show?token=abc')
    const all = Array.from({ length: code.size }, (_, at) => at)
    const dark = all.flatMap((y) => all.filter((x) => code.get(x, y)).map((x) => `${x} ${y}`))
    expect(modulesOf(pathOf(code))).toEqual(dark)
    // The three corners that scanners look for begin with seven dark modules.
    expect(pathOf(code).startsWith(`M0 0h7v1H0z`)).toBe(true)
  })
})

describe('an address that leads every client to its own machine', () => {
  test.each(['http://127.0.0.1:8080', 'http://localhost', 'http://tv.localhost:8080', 'http://[::1]:8080/x'])(
    '%s',
    (http) => expect(isOwnMachine({ http, rtmp: '', rtmps: null, srt: null })).toBe(true),
  )
  test.each(['http://192.168.1.5:8080', 'https://tv.example.com/x', 'http://[2001:db8::1]'])('not %s', (http) =>
    expect(isOwnMachine({ http, rtmp: '', rtmps: null, srt: null })).toBe(false),
  )
})
