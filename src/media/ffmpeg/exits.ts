import type { FfmpegExit } from './ffmpeg.ts'

/** What a shell says of a program that a signal has ended. */
const BY_STATUS: ReadonlyMap<number | null, NodeJS.Signals> = new Map([
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
])

const signalOf = ({ code, signal }: FfmpegExit): NodeJS.Signals | null => signal ?? BY_STATUS.get(code) ?? null

/** It did not end by itself: that may pass. */
export const wasKilled = (exit: FfmpegExit): boolean => signalOf(exit) !== null

/** Why a process has ended, one line for the operator. What it said last explains a failure of its own, and no kill. */
export function exitReason(exit: FfmpegExit): string {
  const signal = signalOf(exit)
  if (signal === 'SIGKILL') return 'ffmpeg was killed (SIGKILL), as the system does when memory runs out'
  if (signal === 'SIGTERM') return 'ffmpeg was ended from outside (SIGTERM)'
  const last = lastLine(exit.tail)
  return `ffmpeg ended with ${signal ?? exit.code}${last === '' ? '' : `: ${last}`}`
}

/** The last thing that was said, at most 300 characters. */
export const lastLine = (tail: string): string => tail.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
