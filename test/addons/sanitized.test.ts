import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { loadAddon } from '../../src/base/addon.ts'

it.each(['fanout', 'udp', 'splice', 'memory'])(
  'the tests beside this one have a checked build of %s, and no other',
  (name) => {
    expect(loadAddon(name)).not.toBeNull()
    const maps = readFileSync('/proc/self/maps', 'utf8')
    expect(maps).toContain(`/build/sanitized/${name}-`)
    expect(maps).not.toContain(`/build/native/${name}-`)
  },
)
