import { mediaProcessCount } from '../base/processors.ts'
import { execFile, type ExecFileException } from 'node:child_process'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { createSecureContext } from 'node:tls'
import { promisify } from 'node:util'
import { addonProblem } from '../base/addon.ts'
import { readAuthorities } from '../base/authorities.ts'
import { childEnvironment } from '../base/childEnvironment.ts'
import { fileProblem, hasCode } from '../base/errorCode.ts'
import { offlineLauncher } from '../base/offline.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import { usableMemoryBytes } from '../base/processMemory.ts'
import type { Result } from '../base/result.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { recordingsDir } from '../config/paths.ts'
import { type ConfigProblem, formatConfigProblem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'

const NODE_MAJOR = 24

export function checkNode(): Finding {
  const version = process.versions.node
  if (Number(version.split('.')[0]) >= NODE_MAJOR) return found('ok', 'node', 'node', { version })
  return found('FAIL', 'node', 'node_old', { version, major: NODE_MAJOR })
}

/** Sluice works without its addons, for a price. */
export function checkAddons(): Finding {
  const problem = addonProblem()
  return problem === null ? found('ok', 'addons', 'addons') : found('warn', 'addons', 'text', { text: problem })
}

/** One line per problem, with its location. */
export function checkConfig(config: Result<Config, readonly ConfigProblem[]>): Finding[] {
  if (config.ok) return [found('ok', 'configuration', 'config', { dir: config.value.data.dir })]
  return config.error.map((problem) => found('FAIL', 'configuration', 'text', { text: formatConfigProblem(problem) }))
}

/**
 * Checks that this user can write to it. A missing one is created at the first start, so the doctor does not create
 * it.
 */
export function checkDataDirectory({ data: { dir } }: Config): Finding[] {
  const check = 'data directory'
  if (existsSync(dir) && !statSync(dir).isDirectory()) return [found('FAIL', check, 'directory_wrong', { dir })]
  return [checkDirectory(check, dir)]
}

/** Recordings may be on another disk, which a unit or a container has to let them be written to, or copied by another user. */
export function checkRecordingsDirectory(config: Config): Finding[] {
  const dir = recordingsDir(config)
  return config.recordings.dir === '' && !existsSync(dir) ? [] : [checkDirectory('recordings directory', dir)]
}

function checkDirectory(check: 'data directory' | 'recordings directory', dir: string): Finding {
  if (existsSync(dir)) return judgeDirectory(check, dir)
  const parent = existingParent(dir)
  if (mayUse(parent)) return found('warn', check, 'directory_new', { dir })
  return found('FAIL', check, 'directory_impossible', { dir, parent })
}

function judgeDirectory(check: 'data directory' | 'recordings directory', dir: string): Finding {
  const refused = refusalOf(dir)
  if (refused === null) return found('ok', check, 'directory', { dir })
  // As a system does with a disk that failed.
  if (hasCode(refused, 'EROFS')) return found('FAIL', check, 'disk_closed', { dir, problem: fileProblem(refused) })
  return found('FAIL', check, 'directory_closed', { dir })
}

const mayUse = (dir: string): boolean => refusalOf(dir) === null

/** Null: this user may read and write there. */
function refusalOf(dir: string): unknown {
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return error
  }
}

const existingParent = (path: string): string => (existsSync(path) ? path : existingParent(dirname(path)))

/**
 * Connections, ffmpeg processes and files share the descriptors of a server. The limit of a command is that of its shell: a
 * service has another one.
 * @param where the server is this process, another one that runs, or one that is yet to start
 */
export function checkOpenFiles(
  config: Config,
  where: 'here' | 'elsewhere' | 'none',
  openFiles = openFilesLimit(),
): Finding[] {
  if (openFiles === null) return []
  const { http, rtmp } = connectionsWithin(config, openFiles)
  const check = 'open files'
  if (http >= config.server.maxConnections && rtmp >= config.rtmp.maxConnections)
    return [found('ok', check, 'open_files', { limit: openFiles })]
  if (where === 'elsewhere') return [found('ok', check, 'open_files_shell', { limit: openFiles })]
  const code = where === 'here' ? 'open_files_few' : 'open_files_few_shell'
  return [found('warn', check, code, { limit: openFiles, http, rtmp })]
}

/** What the server takes, and each media process, as long as they have little to do. */
const SERVER_MEGABYTES = 150
const MEDIA_PROCESS_MEGABYTES = 140

/** A container or a unit with less memory is killed while it serves. */
export function checkMemory(config: Config, usableBytes = usableMemoryBytes()): Finding {
  const processes = mediaProcessCount(config.webrtc.processes)
  const [limit, needed] = [Math.floor(usableBytes / 1e6), SERVER_MEGABYTES + processes * MEDIA_PROCESS_MEGABYTES]
  return limit >= needed
    ? found('ok', 'memory', 'memory', { limit })
    : found('warn', 'memory', 'memory_small', { limit, needed, processes })
}

/** The server does not start with an unreadable file of certificates. */
export function checkWebhookCertificates({ webhooks: { caFile: file } }: Config): Finding[] {
  if (file === '') return []
  const check = 'webhook certificates'
  try {
    createSecureContext({ ca: readAuthorities(file) })
    return [found('ok', check, 'webhook_certificates', { file })]
  } catch (error) {
    return [found('FAIL', check, 'webhook_certificates_wrong', { file, problem: (error as Error).message })]
  }
}

const run = promisify(execFile)

/** External programs of Sluice. Tokens and access decisions need none of them. */
export async function checkTools({ ffmpeg: { path } }: Config): Promise<Finding[]> {
  try {
    const { stdout } = await run(path, ['-version'], { timeout: 5000, env: childEnvironment() })
    const version = /^ffmpeg version (\S+)/.exec(stdout)?.[1] ?? 'found'
    const finding = found(isOld(version) ? 'warn' : 'ok', 'ffmpeg', isOld(version) ? 'ffmpeg_old' : 'ffmpeg', {
      version,
    })
    return [finding, await checkOffline(), ...(await checkEncoders(path))]
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [found('warn', 'ffmpeg', 'ffmpeg_missing')]
    return [found('warn', 'ffmpeg', 'ffmpeg_broken', { path, problem: failureOf(error as ExecFileException) })]
  }
}

/** Versions before 5.1 lack options that Sluice uses. A build of a commit has no number. */
function isOld(version: string): boolean {
  const [, major = '6', minor = '0'] = /^n?(\d{1,2})\.(\d+)/.exec(version) ?? []
  return Number(major) < 5 || (major === '5' && minor === '0')
}

/** Its last words, such as the library that it lacks; without any, how it ended. */
const failureOf = ({ stderr = '', signal, message }: ExecFileException): string =>
  stderr.trim().split('\n').at(-1) || (signal ? `it was ended by ${signal}` : message.trim())

/** Only a note: a service may be allowed less than the user of the doctor. */
async function checkOffline(): Promise<Finding> {
  const launcher = (await offlineLauncher()).join(' ')
  const check = 'ffmpeg network'
  return launcher === '' ? found('ok', check, 'ffmpeg_online') : found('ok', check, 'ffmpeg_offline', { launcher })
}

/** Encoders that Sluice uses. */
const ENCODERS = ['libx264', 'aac', 'libopus'] as const

/** The names of all encoders of this ffmpeg; empty when it does not run. */
export async function encodersOf(path: string): Promise<ReadonlySet<string>> {
  const { stdout } = await run(path, ['-hide_banner', '-encoders'], {
    timeout: 5000,
    maxBuffer: 4 * 1024 * 1024,
    env: childEnvironment(),
  }).catch(() => ({ stdout: '' }))
  return new Set([...stdout.matchAll(/^ [VAS][\w.]{5} (\S+)/gm)].map(([, name = '']) => name))
}

async function checkEncoders(path: string): Promise<Finding[]> {
  const check = 'encoders'
  const offered = await encodersOf(path)
  const missing = ENCODERS.filter((name) => !offered.has(name))
  if (missing.length === 0) return [found('ok', check, 'encoders', { names: ENCODERS.join(', ') })]
  return missing.map((name) => found('warn', check, `encoder_missing_${name}`))
}
