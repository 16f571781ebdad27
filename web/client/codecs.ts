import { SluiceError } from './errors.ts'

const ALL = ['h264', 'vp8', 'vp9', 'av1', 'h265'] as const
/** Video codecs that Sluice forwards. */
export type VideoCodec = (typeof ALL)[number]

const capabilities = (): readonly RTCRtpCodec[] => globalThis.RTCRtpSender?.getCapabilities('video')?.codecs ?? []

const isOf = (codec: VideoCodec) => (one: RTCRtpCodec) => one.mimeType.toLowerCase() === `video/${codec}`

/** The video codecs that this browser can send. Firefox has H.264 only some time after its first start. */
export const sendableCodecs = (): VideoCodec[] => ALL.filter((codec) => capabilities().some(isOf(codec)))

/**
 * The preference of a transceiver: the chosen codec, then the formats that serve every codec (RTX, RED, FEC).
 * @throws SluiceError `cannot_send_codec`
 */
export function codecPreference(codec: VideoCodec): RTCRtpCodec[] {
  const all = capabilities()
  const chosen = all.filter(isOf(codec))
  if (chosen.length === 0) {
    throw new SluiceError('cannot_send_codec', `This browser cannot send ${codec.toUpperCase()}`)
  }
  return [...chosen, ...all.filter(({ mimeType }) => /\/(rtx|red|ulpfec|flexfec-03)$/.test(mimeType))]
}
