import type { AudioTrack } from '../frame.ts'
import { opusSamples } from './opus.ts'

/** Samples in a frame of AAC, and in the shorter one that its configuration may ask for (ISO/IEC 14496-3 section 4.4.1). */
const [AAC_SAMPLES, SHORT_SAMPLES] = [1024, 960]
const SHORT_FRAMES = 4
/** Of Opus that is damaged: 20 ms, as nearly all frames have. */
const OPUS_SAMPLES = 960

/** How long a frame of this track lasts, in samples. */
export function samplesIn({ codec, config, channels }: AudioTrack, data: Uint8Array): number {
  switch (codec) {
    case 'aac':
      return ((config[1] ?? 0) & SHORT_FRAMES) === 0 ? AAC_SAMPLES : SHORT_SAMPLES
    case 'opus':
      return opusSamples(Buffer.from(data)) ?? OPUS_SAMPLES
    case 'pcma':
    case 'pcmu':
      return data.length / channels
  }
}
