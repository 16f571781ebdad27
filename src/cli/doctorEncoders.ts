import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'
import { encodersOf } from './doctorMachine.ts'

type Name = Config['ffmpeg']['videoEncoder']
/** Encodes some frames. Resolves with what is wrong, or null. */
export type TryEncoder = (name: Name) => Promise<string | null>

const HARDWARE: readonly Name[] = ['h264_nvenc', 'h264_vaapi', 'h264_qsv', 'h264_videotoolbox', 'h264_v4l2m2m']

/** Lets the configured encoder encode some frames, and every hardware encoder that this ffmpeg offers. */
export async function checkVideoEncoders({ ffmpeg }: Config, tryOne: TryEncoder): Promise<Finding[]> {
  const { videoEncoder: chosen } = ffmpeg
  const offered = await encodersOf(ffmpeg.path)
  // The check of ffmpeg says that it is missing. Without hardware encoder the server starts nevertheless.
  if (offered.size === 0 && chosen === 'libx264') return []
  const others = HARDWARE.filter((name) => offered.has(name) && name !== chosen)
  const [own = null, ...problems] = await Promise.all([chosen, ...others].map(tryOne))
  return [checkChosen(chosen, own), checkHardware(others.map((name, at) => [name, problems[at] ?? null]))]
}

function checkChosen(chosen: Name, problem: string | null): Finding {
  const check = 'video encoder'
  if (problem === null) return found('ok', check, `${chosen} works`)
  if (chosen === 'libx264') return found('warn', check, `libx264 does not work, so no channel plays: ${problem}`)
  const remedy = 'correct ffmpeg.path, ffmpeg.device or the driver, or set ffmpeg.videoEncoder to libx264'
  return found('FAIL', check, `${chosen} does not work, so the server does not start: ${problem}; ${remedy}`)
}

/** Only a note: a build offers encoders of hardware that the machine lacks. */
function checkHardware(tried: readonly (readonly [name: Name, problem: string | null])[]): Finding {
  const check = 'hardware encoders'
  const working = tried.filter(([, problem]) => problem === null).map(([name]) => name)
  const failing = tried.filter(([, problem]) => problem !== null).map(([name]) => name)
  const notes = [
    ...(working.length > 0 ? [`${working.join(', ')} would work: see ffmpeg.videoEncoder`] : []),
    ...(failing.length > 0 ? [`ffmpeg has ${failing.join(', ')}, and this machine does not`] : []),
  ]
  return found('ok', check, notes.length === 0 ? 'this ffmpeg has no others' : notes.join('; '))
}
