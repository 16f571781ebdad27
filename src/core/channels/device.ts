export const DEVICES = ['desktop', 'mobile', 'tv'] as const
export type Device = (typeof DEVICES)[number]

/** Televisions. Amazon's have a model that begins with AFT. */
const TV =
  /smart-?tv|appletv|googletv|hbbtv|web0s|webos|tizen.{0,512}tv|bravia|roku|\baft[a-z]{1,8}\d{0,4}\b|crkey|\btv\b/i

/**
 * The kind of device, as far as the `User-Agent` tells. Televisions identify themselves; without any hint it is a
 * desktop.
 */
export function deviceOf(userAgent: string | undefined): Device {
  const text = (userAgent ?? '').slice(0, 512)
  if (TV.test(text)) return 'tv'
  return /android|iphone|ipad|ipod|mobile/i.test(text) ? 'mobile' : 'desktop'
}
