import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { promisify } from 'node:util'
import { addonProblem } from '../base/addon.ts'
import { childEnvironment } from '../base/childEnvironment.ts'
import { offlineLauncher } from '../base/offline.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import type { Result } from '../base/result.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { type ConfigProblem, formatConfigProblem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'

const NODE_MAJOR = 24

export function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  if (major >= NODE_MAJOR) return found('ok', 'node', process.versions.node)
  return found(
    'FAIL',
    'node',
    `${process.versions.node} is too old; Sluice needs Node ${NODE_MAJOR}: run it with npx sluice`,
  )
}

/** Sluice works without its addons, for a price. */
export function checkAddons(): Finding {
  const problem = addonProblem()
  return problem === null ? found('ok', 'addons', 'nothing is missing') : found('warn', 'addons', problem)
}

/** One line per problem, with its location. */
export function checkConfig(config: Result<Config, readonly ConfigProblem[]>): Finding[] {
  if (config.ok) return [found('ok', 'configuration', `read; the data is in ${config.value.data.dir}`)]
  return config.error.map((problem) => found('FAIL', 'configuration', formatConfigProblem(problem)))
}

/**
 * Checks that this user can write to it. A missing one is created at the first start, so the doctor does not create
 * it.
 */
export function checkDataDirectory(config: Config): Finding[] {
  const { dir } = config.data
  const check = 'data directory'
  if (!existsSync(dir)) return [found('warn', check, `${dir} does not exist yet; \`sluice serve\` creates it`)]
  if (!statSync(dir).isDirectory()) return [found('FAIL', check, `${dir} is not a directory; set data.dir or --data`)]
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return [
      found('FAIL', check, `${dir} cannot be read and written by this user; give it to the user that runs Sluice`),
    ]
  }
  return [found('ok', check, `${dir} can be read and written`)]
}

/** Connections, ffmpeg processes and files share the descriptors of this process. */
export function checkOpenFiles(config: Config, openFiles: number | null = openFilesLimit()): Finding[] {
  if (openFiles === null) return []
  const { http, rtmp } = connectionsWithin(config, openFiles)
  const check = 'open files'
  if (http >= config.server.maxConnections && rtmp >= config.rtmp.maxConnections)
    return [found('ok', check, `the limit is ${openFiles}`)]
  const allowed = `at most ${http} HTTP and ${rtmp} RTMP connections`
  return [found('warn', check, `the limit of ${openFiles} allows ${allowed}: raise it (ulimit -n, LimitNOFILE=)`)]
}

/** The server does not start with an unreadable file of certificates. */
export function checkWebhookCertificates({ webhooks: { caFile } }: Config): Finding[] {
  if (caFile === '') return []
  const check = 'webhook certificates'
  try {
    createSecureContext({ ca: readFileSync(caFile) })
    return [found('ok', check, `${caFile} is used to check receivers`)]
  } catch (error) {
    const { message } = error as Error
    return [found('FAIL', check, `${caFile} cannot be read as certificates: ${message}; see webhooks.caFile`)]
  }
}

const run = promisify(execFile)

/** External programs of Sluice. Tokens and access decisions need none of them. */
export async function checkTools({ ffmpeg }: Config): Promise<Finding[]> {
  try {
    const { stdout } = await run(ffmpeg.path, ['-version'], { timeout: 5000, env: childEnvironment() })
    const version = /^ffmpeg version (\S+)/.exec(stdout)?.[1] ?? 'found'
    return [found('ok', 'ffmpeg', version), await checkOffline(), await checkEncoders(ffmpeg.path)]
  } catch {
    return [
      found('warn', 'ffmpeg', 'not found: only tokens and access work without it; install ffmpeg, or set ffmpeg.path'),
    ]
  }
}

/** Only a note: a service may be allowed less than the user of the doctor. */
async function checkOffline(): Promise<Finding> {
  const words = await offlineLauncher()
  const without = `started by this user, it has no network where it needs none (${words.join(' ')})`
  const detail = words.length > 0 ? without : 'unshare does not work here, so ffmpeg keeps the network of this host'
  return found('ok', 'ffmpeg network', detail)
}

/** Encoders that Sluice uses, with what does not work without each. */
const ENCODERS: Readonly<Record<string, string>> = {
  libx264: 'channels, and video with B-frames over WebRTC',
  aac: 'HLS and recordings of browsers',
  libopus: 'the audio of RTMP over WebRTC',
}

/** The names of all encoders of this ffmpeg; empty when it does not run. */
export async function encodersOf(path: string): Promise<ReadonlySet<string>> {
  const { stdout } = await run(path, ['-hide_banner', '-encoders'], {
    timeout: 5000,
    maxBuffer: 4 * 1024 * 1024,
    env: childEnvironment(),
  }).catch(() => ({ stdout: '' }))
  return new Set([...stdout.matchAll(/^ [VAS][\w.]{5} (\S+)/gm)].map(([, name = '']) => name))
}

async function checkEncoders(path: string): Promise<Finding> {
  const check = 'encoders'
  const known = await encodersOf(path)
  const missing = Object.entries(ENCODERS).filter(([name]) => !known.has(name))
  if (missing.length === 0) return found('ok', check, Object.keys(ENCODERS).join(', '))
  const what = missing.map(([name, use]) => `${name} (${use})`).join(', ')
  return found('warn', check, `ffmpeg lacks ${what}: install a build with them, or set ffmpeg.path`)
}
