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
  if (problem === null) return found('ok', check, 'video_encoder', { name: chosen })
  if (chosen === 'libx264') return found('warn', check, 'video_encoder_libx264', { problem })
  return found('FAIL', check, 'video_encoder_broken', { name: chosen, problem })
}

/** Only a note: a build offers encoders of hardware that the machine lacks. */
function checkHardware(tried: readonly (readonly [name: Name, problem: string | null])[]): Finding {
  const check = 'hardware encoders'
  const namesOf = (works: boolean): string =>
    tried
      .filter(([, problem]) => (problem === null) === works)
      .map(([name]) => name)
      .join(', ')
  const [working, absent] = [namesOf(true), namesOf(false)]
  if (tried.length === 0) return found('ok', check, 'hardware_none')
  if (absent === '') return found('ok', check, 'hardware_working', { working })
  return working === ''
    ? found('ok', check, 'hardware_absent', { absent })
    : found('ok', check, 'hardware_some', { working, absent })
}
