import { describe, expect, test } from 'vitest'
import { parse } from './tidy/source.ts'
import { retiredNames, retiredPaths, stiltedCode, stiltedPage } from './tidy/words.ts'

const module = (path: string, text: string) => parse({ path, text })

/** The rules themselves: each must detect what it forbids. `tidy.test.ts` holds the repository to them. */
describe('the rules on words see', () => {
  test.each([
    ['an interface', 'interface LiveFailure {}', 'LiveFailure'],
    ['an alias of a type', 'type StoredLife = 1', 'StoredLife'],
    ['a class', 'class Outlet {}', 'Outlet'],
    ['a function', 'function shownPage() {}', 'shownPage'],
    ['a parameter', 'const a = (desertedStreams: number) => 1', 'desertedStreams'],
    ['a private method', 'class A { #bury() {} }', 'bury'],
    ['a member', 'interface A { readonly signOfLife: 1 }', 'signOfLife'],
    ['a part of a pattern', 'const { a: { b: rowsBehind } } = c', 'rowsBehind'],
    ['a word of a longer name', 'const nextLaneIndex = 1', 'nextLaneIndex'],
    ['a word at the end of a name', 'type RequestPlace = 1', 'RequestPlace'],
  ])('the retired name of %s', (_, text, name) => {
    expect(retiredNames(module('src/core/a.ts', text))).toEqual([
      expect.stringMatching(new RegExp(`^src/core/a\\.ts:1: ${name} is a retired name; better: `)),
    ])
  })

  test.each([
    ['LiveKit', 'class LiveKitClient {}'],
    ['a word inside of another', 'const lifetimeMs = 1, planeLanes2d = 2, placeholder = 3, replaced = 4'],
    ['the name that another module gave', "import { LiveFailure } from './b.ts'\nexport const a = LiveFailure"],
  ])('no retired name in %s', (_, text) => {
    expect(retiredNames(module('src/media/a.ts', text))).toEqual([])
  })

  test('a retired folder and a retired file', () => {
    const paths = [
      'src/core/live/a.ts',
      'test/v2life/a.test.ts',
      'src/edge/door.test.ts',
      'src/core/alive/lifecycle.ts',
    ]
    expect(paths.flatMap((path) => retiredPaths({ path }))).toEqual([
      'src/core/live/a.ts: live is a retired name; better: channels, or sessions',
      'test/v2life/a.test.ts: v2life is a retired name; better: runs, or schedules',
      'src/edge/door.test.ts: door.test.ts is a retired name; better: signaling, or proxy',
    ])
  })

  test.each([
    ['anew', '// The run begins anew.'],
    ['whoever', '/** For whoever calls it. */'],
    ['told of', 'const a = 1 // The listener is told of it.'],
    ['tells of', '/* It tells of the loss. */'],
    ['so many', '/** Takes so many, and no more. */'],
    ['so many at an end', '/** Takes so many\n * . */\n// or so many'],
    ['the short way', '// Requests take the short way.'],
    ['gets narrow', '// The link gets narrow.'],
    ['all the same', '// It is sent all the same.'],
    ['nobody', '/** It belongs to nobody. */'],
    ['everybody', '// Everybody may watch.'],
    ['who is on', '/** Who is on at this node. */'],
    ['in vain', '// It searches in vain.'],
    ['to be had', '// Audio alone is to be had.'],
    ['a sign of life', '/** The last sign of life. */'],
    ['key picture', '// Begins with a key picture.'],
    ['a phrase over two lines', '/**\n * A listener is told\n * of it.\n */'],
    ['the name of a test', "test.each([1])('begins anew with %s', f)"],
  ])('the stilted phrase: %s', (_, text) => {
    expect(stiltedCode(module('src/core/a.ts', text))).not.toEqual([])
    expect(stiltedPage({ path: 'docs/a.md', text })).not.toEqual([])
  })

  test('where a stilted phrase stands, and none in code', () => {
    expect(stiltedCode(module('src/core/a.ts', 'describe(`begins ${1} anew`, f)'))).toHaveLength(1)
    expect(
      stiltedCode(module('src/core/a.ts', "const a = 'anew // anew'\n/** Why. */\nconst b = /\\/\\/ anew/ // anew")),
    ).toEqual(['src/core/a.ts:3: "anew" is stilted; better: again'])
    const page =
      '# A page\n\n```\nanew\n```\n\nRun `anew`. So many people watch. [Why](0003-before-anybody-broadcasts.md)\n\nIt starts anew.'
    expect(stiltedPage({ path: 'docs/a.md', text: page })).toEqual(['docs/a.md:9: "anew" is stilted; better: again'])
  })
})
