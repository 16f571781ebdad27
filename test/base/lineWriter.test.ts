import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { LineWriter } from '../../src/base/lineWriter.ts'
import { until } from '../support/until.ts'

let folder: string
let fd: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-lines-'))
  fd = openSync(join(folder, 'log'), 'w')
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

const OPTIONS = { maxBytes: 1000, droppedLine: (count: number) => `dropped ${count}\n` }
/** No write of this process is in progress, and the callback of each was called. */
const writesEnded = () => until(() => !process.getActiveResourcesInfo().includes('FSReqCallback'))
const written = () => readFileSync(join(folder, 'log'), 'utf8')

describe('lines', () => {
  test('are written in order, also while earlier writes are in progress', async () => {
    const writer = new LineWriter(fd, OPTIONS)
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at} ${'x'.repeat(at % 7)}\n`)
    for (const line of lines) {
      writer.write(line)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await vi.waitUntil(() => written() === lines.join(''), 30_000)
  })

  test('without room are counted, and the count precedes the next line', async () => {
    const writer = new LineWriter(fd, { ...OPTIONS, maxBytes: 10 })
    for (const line of ['12345\n', '123\n', 'too much\n', 'too much\n']) writer.write(line)
    await vi.waitUntil(() => written() === '12345\n123\n', 30_000)
    writer.write('later\n')
    await vi.waitUntil(() => written() === '12345\n123\ndropped 2\nlater\n', 30_000)
  })

  test('that wait are written at exit', () => {
    const writer = new LineWriter(fd, OPTIONS)
    writer.write('one\n')
    writer.write('two\n')
    writer.flush()
    expect(written()).toContain('one\ntwo\n')
  })

  test('are dropped and counted on a full disk, and it neither throws nor waits', async () => {
    const full = openSync('/dev/full', 'w')
    const counts: number[] = []
    const droppedLine = (count: number): string => {
      counts.push(count)
      return 'dropped\n'
    }
    const writer = new LineWriter(full, { maxBytes: 1000, droppedLine })
    for (let at = 0; at < 5; at++) writer.write('line\n')
    await vi.waitUntil(() => {
      writer.write('line\n')
      return counts.some((count) => count >= 5)
    }, 30_000)
    writer.flush()
    // If the descriptor were closed during a write, its number could already belong to another file.
    await writesEnded()
    closeSync(full)
  })

  test('are whole lines again after a disk that took half of one', async () => {
    const { write } = fs
    let refusals = 0
    // A disk with room for six bytes at first, then for none, and then for all.
    fs.write = ((to: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => {
      if (refusals > 0) return write(to, bytes, done)
      if (written() === '') return write(to, bytes.subarray(0, 6), done)
      refusals += 1
      setImmediate(done, Object.assign(new Error('full'), { code: 'ENOSPC' }), 0)
    }) as typeof fs.write
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.write = write
      syncBuiltinESMExports()
    })
    const writer = new LineWriter(fd, OPTIONS)
    writer.write('one line\n')
    await until(() => refusals > 0)
    await until(() => {
      writer.write('later\n')
      return written().includes('dropped')
    })
    expect(written()).toMatch(/^one li\n(later\n)*dropped \d+\nlater\n/)
  })

  test('to a closed descriptor are dropped', async () => {
    const writer = new LineWriter(fd, OPTIONS)
    closeSync(fd)
    writer.write('line\n')
    await writesEnded()
    // The next file gets the number of the closed descriptor.
    expect(openSync(join(folder, 'log'), 'w')).toBe(fd)
    writer.write('line\n')
    writer.flush()
    expect(written()).toBe('')
    closeSync(fd)
  })
})

test('a process that logs to a full disk keeps working and exits normally', async () => {
  const log = new URL('../../src/base/log.ts', import.meta.url).href
  const program = `
    const { createLogger } = await import(${JSON.stringify(log)})
    const log = createLogger({ level: 'info', format: 'json' })
    for (let at = 0; at < 20; at++) {
      log.info({ at }, 'line')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    process.exitCode = 42`
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', full, 'inherit'],
  })
  expect(await once(child, 'exit')).toEqual([42, null])
  closeSync(full)
})
