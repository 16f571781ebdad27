import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'

/** The plain JavaScript of bin/ has no types. */
const runtime = (await import(new URL('../../bin/runtime.js', import.meta.url).href)) as {
  isNewEnough(version: string): boolean
  findPinnedNode(): string | undefined
}

describe('the Node that runs Sluice', () => {
  test.each(['v24.15.0', '24.21.0', 'v25.0.0', 'v26.10.0'])('%s is supported', (version) => {
    expect(runtime.isNewEnough(version)).toBe(true)
  })

  test.each(['v24.14.9', 'v20.20.2', 'v9.99.0', '', 'nonsense'])('%s is not supported', (version) => {
    expect(runtime.isNewEnough(version)).toBe(false)
  })
})

test('a child stops gracefully when its parent is gone', async () => {
  const guard = new URL('../../bin/follow-parent.js', import.meta.url).href
  const script = "process.on('SIGTERM', () => process.exit(42)); setInterval(() => {}, 1000); console.log('up')"
  const child = spawn(process.execPath, ['--import', guard, '--eval', script], { stdio: ['ignore', 'pipe', 2, 'pipe'] })
  if (child.stdout === null) throw new Error('the child has no output')
  await once(child.stdout, 'data')
  // What the kernel does for a parent that was killed.
  child.stdio[3]?.destroy()
  expect(await once(child, 'exit')).toEqual([42, null])
})
