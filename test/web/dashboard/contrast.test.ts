import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const SCHEMES = ['light', 'dark'] as const
type Colour = Record<(typeof SCHEMES)[number], string>

const source = fileURLToPath(new URL('../../../web/dashboard/src/', import.meta.url))
const tokensCss = readFileSync(join(source, 'styles/tokens.css'), 'utf8')

/** The colours of a part of tokens.css: `name` to its value in light and in dark. */
const coloursOf = (css: string): Map<string, Colour> =>
  new Map(
    [...css.matchAll(/--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, { light, dark }],
    ),
  )

const colours = coloursOf(tokensCss.split('@media')[0] ?? '')
/** As a person sees them who asks for more contrast. */
const strong = new Map([...colours, ...coloursOf(tokensCss.split('prefers-contrast: more')[1] ?? '')])

const GROUNDS = ['paper', 'surface', 'sunken', 'hover']
const STATES = ['live', 'ok', 'warn', 'error', 'info']

type Pair = readonly [front: string, ground: string]
const pairs = (fronts: readonly string[], grounds: readonly string[]): Pair[] =>
  fronts.flatMap((front) => grounds.map((ground) => [front, ground] as const))

const TEXT: readonly Pair[] = [
  ...pairs(['ink', 'ink-2', 'ink-3'], GROUNDS),
  ...pairs(['accent', 'error', 'live', 'warn', 'ok', 'info', 'plot-label'], ['paper', 'surface']),
  ...pairs(['on-accent'], ['accent', 'accent-strong']),
  ['on-live', 'live-fill'],
  ['on-error', 'error'],
  ['on-screen', 'screen'],
  ...pairs(['accent-ink', 'ink', 'ink-2'], ['accent-soft']),
  ...STATES.flatMap((state) => [
    ...pairs([`${state}-ink`], [`${state}-soft`, 'surface']),
    ...pairs(['ink', 'ink-2'], [`${state}-soft`]),
  ]),
]

/** Parts of controls, shapes of states, lines of plots. */
const GRAPHICS: readonly Pair[] = [
  ...pairs(['edge', ...STATES, 'idle'], ['paper', 'surface', 'sunken']),
  ...pairs(['accent'], GROUNDS),
  ...STATES.map((state) => [state, `${state}-soft`] as const),
  ...pairs(['live-fill', ...[1, 2, 3].map((number) => `plot-${number}`)], ['surface', 'paper']),
]

/** They separate, and nothing has to be read from them. */
const DECORATION = ['line', 'plot-grid']

/** The relative luminance of WCAG 2.2. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(front: string, ground: string): number {
  const [lighter = 0, darker = 0] = [luminance(front), luminance(ground)].toSorted((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

/** One line for each pair that falls short. */
function short(all: readonly Pair[], least: number, from = colours): string[] {
  return all.flatMap(([front, ground]) =>
    SCHEMES.flatMap((scheme) => {
      const [a, b] = [from.get(front), from.get(ground)]
      if (!a || !b) return [`there is no colour ${a ? ground : front}`]
      const ratio = contrast(a[scheme], b[scheme])
      return ratio < least ? [`${scheme}: ${front} on ${ground} is ${ratio.toFixed(2)}, needs ${least}`] : []
    }),
  )
}

const VALUE = String.raw`(var\(--[\w-]+\)|light-dark\(#\w{6}, #\w{6}\)|#\w{6})`
const FRONT = new RegExp(String.raw`(?:^|[;\s])color:\s*${VALUE}`)
const GROUND = new RegExp(String.raw`(?:^|[;\s])background(?:-color)?:\s*${VALUE}`)

/** A colour as a rule names it; undefined: not one of tokens.css, such as a variable of the rule's own. */
function colourOf(value: string): Colour | undefined {
  const [light = '', dark = light] = value.match(/#\w{6}/g) ?? []
  return light === '' ? colours.get(value.slice('var(--'.length, -1)) : { light, dark }
}

/** The rules of the style sheets that set both text and ground, with the lower contrast of the two schemes. */
function contrastsOfRules(): { rule: string; ratio: number }[] {
  return globSync('**/*.css', { cwd: source }).flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/([^{};]*)\{([^{}]*)\}/g)].flatMap(
      ([, selector = '', rule = '']) => {
        const [front, ground] = [FRONT, GROUND].map((pattern) => colourOf(pattern.exec(rule)?.[1] ?? ''))
        if (!front || !ground) return []
        const ratio = Math.min(...SCHEMES.map((scheme) => contrast(front[scheme], ground[scheme])))
        return [{ rule: `${file}: ${selector.trim()}`, ratio }]
      },
    ),
  )
}

describe('the colours of the dashboard, in light and in dark', () => {
  test('black on white is 21, so the formula is that of WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
    expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.54, 2)
  })

  test('text has a contrast of 4.5, also in the scheme with more contrast', () => {
    expect(short(TEXT, 4.5)).toEqual([])
    expect(short(TEXT, 4.5, strong)).toEqual([])
  })

  test('parts of controls and graphics have a contrast of 3', () => {
    expect(short(GRAPHICS, 3)).toEqual([])
  })

  test('each rule of a style sheet that sets text and ground has a contrast of 4.5', () => {
    const found = contrastsOfRules()
    expect(found.length).toBeGreaterThan(15)
    expect(found.filter(({ ratio }) => ratio < 4.5)).toEqual([])
  })

  test('no colour is without a pair', () => {
    const paired = new Set([...TEXT, ...GRAPHICS].flat())
    const others = [...colours.keys()].filter((name) => !paired.has(name) && !DECORATION.includes(name))
    expect(others).toEqual([])
  })
})
