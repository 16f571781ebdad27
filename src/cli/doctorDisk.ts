import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText, fileProblem } from '../base/errorCode.ts'
import { NEW_FILE, withFile } from '../base/files.ts'
import { builtMsOf } from '../base/geoip.ts'
import { err, ok, type Result } from '../base/result.ts'
import { DAY_MS } from '../base/time.ts'
import { isPostgres, recordingsDir, storageUrl } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'

const WRITES_MAX = 20
const TRIAL_MS = 1000
/** A write waits for the disk at least twice. Slower than this, token changes and sessions wait noticeably. */
const SLOW_MS = 20

/** The time of a durable write of 4 KB: what every change on SQLite waits for. */
export async function checkDiskSpeed(config: Config): Promise<Finding[]> {
  if (isPostgres(config)) return []
  const probe = join(config.data.dir, `.doctor-${process.pid}`)
  try {
    const medianMs = await durableWriteMs(probe)
    const ms = medianMs.toFixed(1)
    if (medianMs < SLOW_MS) return [found('ok', 'disk speed', 'disk_speed', { ms })]
    return [found('warn', 'disk speed', 'disk_slow', { ms })]
  } catch (error) {
    return [found('FAIL', 'disk speed', 'disk_closed', { dir: config.data.dir, problem: fileProblem(error) })]
  } finally {
    await rm(probe, { force: true })
  }
}

/** A server that is examined serves meanwhile, so it does not wait for the disk itself. */
const durableWriteMs = (path: string): Promise<number> =>
  withFile(path, NEW_FILE, async (file) => {
    const times: number[] = []
    const endMs = performance.now() + TRIAL_MS
    while (times.length < WRITES_MAX && performance.now() < endMs) {
      const startMs = performance.now()
      await file.write(Buffer.alloc(4096, times.length), 0, 4096, times.length * 4096)
      await file.datasync()
      times.push(performance.now() - startMs)
    }
    return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  })

const MEGABYTE = 1_000_000
const SPARE_MEGABYTES = 500

/** The room in the directories that grow. Backups and migrations need twice the database. */
export function checkDiskSpace(config: Config): Finding[] {
  const [free, database] = [freeMegabytes(config.data.dir), databaseMegabytes(config)]
  const needed = Math.max(SPARE_MEGABYTES, 2 * database)
  const { dir } = config.data
  const own =
    free >= needed
      ? found('ok', 'disk space', 'disk_space', { free, dir })
      : found('warn', 'disk space', 'disk_space_low', { free, dir, needed })
  return [own, ...recordingSpace(config)]
}

function recordingSpace(config: Config): Finding[] {
  const dir = recordingsDir(config)
  const { minFreeMegabytes } = config.recordings
  const free = existsSync(dir) ? freeMegabytes(dir) : null
  if (free === null || free >= minFreeMegabytes) return []
  return [found('warn', 'disk space', 'recordings_low', { free, dir, least: minFreeMegabytes })]
}

function freeMegabytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir)
  return Math.floor((bavail * bsize) / MEGABYTE)
}

function databaseMegabytes(config: Config): number {
  const file = storageUrl(config)
  return isPostgres(config) || !existsSync(file) ? 0 : Math.ceil(statSync(file).size / MEGABYTE)
}

const OLD_DAYS = 60

/** Addresses move between countries. An unreadable file keeps the server from starting. */
export function checkCountryDatabase({ geoip: { database: file } }: Config): Finding[] {
  const check = 'country database'
  if (file === '') return [found('ok', check, 'countries_none')]
  if (!existsSync(file)) return [found('FAIL', check, 'countries_missing', { file })]
  const built = builtMs(file)
  if (!built.ok) return [found('FAIL', check, 'countries_unreadable', { file, problem: built.error })]
  // A copy is as new as its copying.
  const days = Math.floor((Date.now() - (built.value ?? statSync(file).mtimeMs)) / DAY_MS)
  if (days <= OLD_DAYS) return [found('ok', check, 'countries', { file, days })]
  return [found('warn', check, 'countries_old', { file, days })]
}

function builtMs(file: string): Result<number | null, string> {
  try {
    return ok(builtMsOf(file))
  } catch (error) {
    return err(errorText(error))
  }
}

/** What Sluice asks of the kernel for each UDP socket is cut to this. */
const BUFFER_BYTES = 4 * 1024 * 1024

/** Whether the kernel grants the buffers that hold the packets of a keyframe to many viewers. Linux only. */
export function checkKernelBuffers(read: (file: string) => string = (file) => readFileSync(file, 'latin1')): Finding[] {
  const limits = ['rmem_max', 'wmem_max'].flatMap((name) => {
    const bytes = numberIn(() => read(`/proc/sys/net/core/${name}`))
    return bytes === null ? [] : [{ name, bytes }]
  })
  if (limits.length === 0) return []
  const low = limits.filter(({ bytes }) => bytes < BUFFER_BYTES)
  const textOf = (some: typeof limits) => some.map(({ name, bytes }) => `${name} ${bytes}`).join(', ')
  if (low.length === 0) return [found('ok', 'UDP buffers', 'udp_buffers', { limits: textOf(limits) })]
  const settings = low.map(({ name }) => `net.core.${name}=${BUFFER_BYTES}`).join(' ')
  return [found('warn', 'UDP buffers', 'udp_buffers_small', { limits: textOf(low), settings })]
}

function numberIn(read: () => string): number | null {
  try {
    const value = Number(read().trim())
    return Number.isSafeInteger(value) ? value : null
  } catch {
    return null
  }
}
