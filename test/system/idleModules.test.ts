import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { endServers, newDirectory, serve } from './cliProcess.ts'

afterAll(endServers)

/** Packages that only some servers need, or only at times. The largest made an idle server 6 MB larger. */
const LATER = /\/node_modules\/(@peculiar|@simplewebauthn|acme-client|asn1js|pg|werift)\//

/** Writes the URL of each module that the process loads. */
const watch = (list: string): string => `
import { registerHooks } from 'node:module'
import { appendFileSync } from 'node:fs'
registerHooks({
  load(url, context, next) {
    appendFileSync(${JSON.stringify(list)}, url + '\\n')
    return next(url, context)
  },
})`

test('a server that idles has not loaded what it may never need', async () => {
  const directory = newDirectory()
  const [hooks, list] = [join(directory, 'hooks.mjs'), join(directory, 'modules.txt')]
  writeFileSync(hooks, watch(list))
  await serve(['--data', directory], { NODE_OPTIONS: `--import ${pathToFileURL(hooks).href}` })
  const loaded = readFileSync(list, 'utf8').trim().split('\n')
  expect(loaded.some((url) => url.includes('/node_modules/fastify/'))).toBe(true)
  expect(loaded.filter((url) => LATER.test(url))).toEqual([])
})
