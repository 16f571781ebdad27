/** 1900-01-01 to 1970-01-01, in seconds. */
const NTP_EPOCH = 2_208_988_800
/** A minute, in 1/65536 s: an older report is of no use, and one from the future looks like a far older one. */
const LONGEST = 60 * 65_536

export interface NtpTime {
  /** Since 1900. */
  readonly ntpSeconds: number
  /** In 1/2^32 s. */
  readonly ntpFraction: number
}

/** The NTP time (RFC 3550 section 4) of milliseconds since 1970. */
export const ntpOf = (wallMs: number): NtpTime => ({
  ntpSeconds: (Math.floor(wallMs / 1000) + NTP_EPOCH) >>> 0,
  ntpFraction: Math.floor(((wallMs % 1000) / 1000) * 2 ** 32) >>> 0,
})

/** Milliseconds since 1970 of an NTP time of this era. */
export const wallOf = ({ ntpSeconds, ntpFraction }: NtpTime): number =>
  (ntpSeconds - NTP_EPOCH) * 1000 + (ntpFraction * 1000) / 2 ** 32

/** The middle 32 bits of an NTP time, in 1/65536 s: the format of times in reports. */
export const middleOf = ({ ntpSeconds, ntpFraction }: NtpTime): number =>
  ((ntpSeconds & 0xffff) * 65_536 + (ntpFraction >>> 16)) >>> 0

/**
 * The round trip of our sender report and its answer (RFC 3550 section 6.4.1), and when it left; milliseconds. Null: the answer
 * names no report of ours, or its times are impossible.
 */
export function roundTripOf(
  { lastReport, delaySinceLastReport }: { readonly lastReport: number; readonly delaySinceLastReport: number },
  nowMs: number,
): { readonly roundTripMs: number; readonly leftAtMs: number } | null {
  if (lastReport === 0) return null
  const elapsed = (middleOf(ntpOf(nowMs)) - lastReport) >>> 0
  if (elapsed < delaySinceLastReport || elapsed > LONGEST) return null
  const ms = (ticks: number): number => (ticks * 1000) / 65_536
  return { roundTripMs: ms(elapsed - delaySinceLastReport), leftAtMs: nowMs - ms(elapsed) }
}
