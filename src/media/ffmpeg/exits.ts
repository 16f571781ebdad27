import type { Clock } from '../../base/clock.ts'
import { repeat, type RepeatOptions } from '../../base/repeat.ts'
import { coded, type CodedSentence, noticeText } from '../../core/notices.ts'
import type { FfmpegExit, FfmpegProcess } from './ffmpeg.ts'

/** The exit status that a shell reports for a program that a signal ended: 128 plus the signal's number. */
const BY_STATUS: ReadonlyMap<number | null, NodeJS.Signals> = new Map([
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
])

const signalOf = ({ code, signal }: FfmpegExit): NodeJS.Signals | null => signal ?? BY_STATUS.get(code) ?? null

/** True when a signal ended the process, so that another try may succeed. */
export const wasKilled = (exit: FfmpegExit): boolean => signalOf(exit) !== null

/** Why a process ended, for the operator. Its last output explains a failure, but not a kill. */
export function exitSentence(exit: FfmpegExit): CodedSentence {
  const signal = signalOf(exit)
  if (signal === 'SIGKILL') return coded('ffmpeg_killed')
  if (signal === 'SIGTERM') return coded('ffmpeg_terminated')
  const [status, text] = [String(signal ?? exit.code), lastLine(exit.tail)]
  return text === '' ? coded('ffmpeg_ended', { status }) : coded('ffmpeg_ended_saying', { status, text })
}

/** The same as one line. */
export const exitReason = (exit: FfmpegExit): string => noticeText([exitSentence(exit)])

/** Waits until a process ends, and ends it after this time. `isLate`: that was necessary. */
export async function exitWithin(
  process: Pick<FfmpegProcess, 'exited' | 'stop'>,
  clock: Pick<Clock, 'sleep'>,
  ms: number,
): Promise<FfmpegExit & { readonly isLate: boolean }> {
  const over = new AbortController()
  const late = clock.sleep(ms, over.signal).then(
    () => process.stop(0).then(() => true),
    () => false,
  )
  const exit = await process.exited
  over.abort()
  return { ...exit, isLate: await late }
}

/** Waits until a process ends, and kills it if it makes no progress from one look to the next. @param name of the process, for the log */
export async function exitUnlessStalled(
  process: Pick<FfmpegProcess, 'exited' | 'stop' | 'progress'>,
  { name, log, ...options }: Pick<RepeatOptions, 'clock' | 'log' | 'name' | 'everyMs'>,
): Promise<FfmpegExit> {
  let beforeMs: number | undefined
  const guard = repeat({ ...options, log, name: `watch ${name}`, pausesFirst: true }, async () => {
    const { outTimeMs } = process.progress
    if (beforeMs !== outTimeMs) return void (beforeMs = outTimeMs)
    log.warn({ name }, 'an ffmpeg makes no progress and is killed')
    await process.stop(0)
  })
  const exit = await process.exited
  await guard.stop()
  return exit
}

/** The last line of the output, at most 300 characters. */
export const lastLine = (tail: string): string => tail.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
