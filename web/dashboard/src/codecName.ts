/** Those that people write otherwise than in upper case. */
const NAMES: Readonly<Record<string, string>> = { h264: 'H.264', opus: 'Opus' }

/** A codec as people write it, by the name that the API or a browser has for it. */
export const codecName = (codec: string): string => NAMES[codec.toLowerCase()] ?? codec.toUpperCase()
