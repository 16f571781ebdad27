import { describe, expect, test } from 'vitest'
import { parse } from './tidy/source.ts'
import { browserWallsJumped, wallsJumped } from './tidy/walls.ts'

/** The rules of `test/tidy/walls.ts` must see what they forbid, and nothing else. */
describe('the walls', () => {
  const module = (path: string, text: string) => parse({ path, text })
  const jumped = (path: string, text: string) => wallsJumped(module(path, text))

  test.each([
    ['core', "import { readFileSync } from 'node:fs'"],
    ['core', "import { systemClock } from '../base/clock.ts'"],
    ['core', "import fastify from 'fastify'"],
    ['core', "import type { Config } from '../config/schema.ts'"],
    ['base', "import { decide } from '../core/access/decide.ts'"],
    ['commands', "import { open } from '../store/sqlite/store.ts'"],
    ['commands', "export { open } from '../store/sqlite/store.ts'"],
    ['commands', "export * from '../store/sqlite/store.ts'"],
    ['commands', "const open = await import('../store/sqlite/store.ts')"],
    ['commands', "type Open = import('../store/sqlite/store.ts').Open"],
    ['commands', "import { hash } from 'node:crypto'"],
    ['edge', "import { loadConfig } from '../config/load.ts'"],
    ['edge', "import type { Store } from '../store/store.ts'"],
    ['delivery', 'const x = await import(name)'],
    ['store', "import { helper } from '../../test/support/helper.ts'"],
    ['store', "import { start } from '../app.ts'"],
    ['attic', "import { ok } from '../base/result.ts'"],
  ])('what %s may not: %s', (room, text) => {
    expect(jumped(`src/${room}/a.ts`, text)).toHaveLength(1)
  })

  test.each([
    ['core', "import { ok } from '../base/result.ts'"],
    ['core', "import type { Clock } from '../base/clock.ts'"],
    ['core', "import { type Clock } from '../base/clock.ts'"],
    ['core', "import { RE2JS } from 're2js'"],
    ['commands', "import type { Store } from '../store/store.ts'"],
    ['commands', "import { Conflict } from '../store/store.ts'"],
    ['edge', "import type { Config } from '../config/schema.ts'"],
    ['edge', "import type { IncomingMessage } from 'node:http'"],
    ['delivery', "import { Agent } from 'undici'"],
    ['store', "import { x } from './sqlite/x.ts'"],
  ])('that %s may: %s', (room, text) => {
    expect(jumped(`src/${room}/a.ts`, text)).toEqual([])
  })

  test.each([
    ['client', "import type { Config } from '../../src/config/schema.ts'"],
    ['client', "import { Player } from '../player/player.ts'"],
    ['client', "import Hls from 'hls.js'"],
    ['player', "import { ok } from '../../src/base/result.ts'"],
    ['player', "import { h } from 'preact'"],
    ['dashboard', "import type { Config } from '../../src/config/schema.ts'"],
    ['dashboard', "import { join } from 'node:path'"],
  ])('what web/%s may not: %s', (folder, text) => {
    expect(browserWallsJumped(module(`web/${folder}/a.ts`, text))).toHaveLength(1)
  })

  test.each([
    ['client', "import { b } from './b.ts'"],
    ['player', "import { WhepViewer } from '../client/index.ts'"],
    ['player', "const { default: Hls } = await import('hls.js/light')"],
    ['dashboard', "import { listChannels } from '#api/channels.ts'"],
    ['dashboard', "import { render } from 'preact'"],
  ])('that web/%s may: %s', (folder, text) => {
    expect(browserWallsJumped(module(`web/${folder}/a.ts`, text))).toEqual([])
  })

  test('where a wall is jumped', () => {
    expect(jumped('src/core/a.ts', "\n\nimport 'node:fs'")[0]).toMatch(
      /^src\/core\/a\.ts:3: core may not import node:fs/,
    )
  })
})
