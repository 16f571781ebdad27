import { readFileSync, statfsSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { NEW_FILE, withFile } from '../base/files.ts'
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
    const detail = `a durable write takes ${medianMs.toFixed(1)} ms`
    if (medianMs < SLOW_MS) return [found('ok', 'disk speed', detail)]
    return [
      found('warn', 'disk speed', `${detail}: use a faster disk for data.dir (SSD, no network mount), or PostgreSQL`),
    ]
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
  const detail = `${free} MB left in ${config.data.dir}`
  const check = 'disk space'
  const own =
    free >= needed
      ? found('ok', check, detail)
      : found('warn', check, `${detail}: an upgrade and normal operation need ${needed} MB; make room`)
  return [own, ...recordingSpace(config)]
}

function recordingSpace(config: Config): Finding[] {
  const dir = recordingsDir(config)
  const { minFreeMegabytes } = config.recordings
  const free = statSync(dir, { throwIfNoEntry: false }) ? freeMegabytes(dir) : null
  if (free === null || free >= minFreeMegabytes) return []
  const detail = `${free} MB left in ${dir}: no recording starts below ${minFreeMegabytes} (recordings.minFreeMegabytes); make room`
  return [found('warn', 'disk space', detail)]
}

function freeMegabytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir)
  return Math.floor((bavail * bsize) / MEGABYTE)
}

const databaseMegabytes = (config: Config): number => {
  if (isPostgres(config)) return 0
  return Math.ceil((statSync(storageUrl(config), { throwIfNoEntry: false })?.size ?? 0) / MEGABYTE)
}

const OLD_DAYS = 60
const DAY_MS = 86_400_000

/** Addresses move between countries. An unreadable file keeps the server from starting. */
export function checkCountryDatabase({ geoip: { database } }: Config): Finding[] {
  const check = 'country database'
  if (database === '') return [found('ok', check, 'none: the country of every address is unknown (geoip.database)')]
  const stats = statSync(database, { throwIfNoEntry: false })
  if (!stats?.isFile())
    return [found('FAIL', check, `${database} does not exist; correct geoip.database, or remove it`)]
  const days = Math.floor((Date.now() - stats.mtimeMs) / DAY_MS)
  const detail = `${database} is ${days} days old`
  if (days <= OLD_DAYS) return [found('ok', check, detail)]
  return [found('warn', check, `${detail}; replace it: Sluice reads it again when it changes`)]
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
  if (low.length === 0)
    return [found('ok', 'UDP buffers', limits.map(({ name, bytes }) => `${name} ${bytes}`).join(', '))]
  const commands = low.map(({ name }) => `net.core.${name}=${BUFFER_BYTES}`).join(' ')
  const now = low.map(({ name, bytes }) => `${name} is ${bytes}`).join(', ')
  return [
    found(
      'warn',
      'UDP buffers',
      `${now}, so bursts to many viewers lose packets; run: sysctl -w ${commands}, and keep it in /etc/sysctl.d`,
    ),
  ]
}

function numberIn(read: () => string): number | null {
  try {
    const value = Number(read().trim())
    return Number.isSafeInteger(value) ? value : null
  } catch {
    return null
  }
}
