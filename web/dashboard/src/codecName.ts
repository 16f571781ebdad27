/** Those that people write otherwise than in upper case. */
const NAMES: Readonly<Record<string, string>> = { h264: 'H.264', opus: 'Opus' }

/** A codec, by the name that the API has for it, as people write it. */
export const codecName = (codec: string): string => NAMES[codec] ?? codec.toUpperCase()
