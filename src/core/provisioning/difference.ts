import type { ChangedSetting, ProvisionItem } from './types.ts'

const HIDDEN = '(hidden)'
/** A source may have a key in its address, and so may the target of a webhook. Targets of tokens have keys. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set(['url', 'ingests', 'distributions', 'restream'])

/** The settings of `wanted` that the record has not, or not with this value. Settings that `wanted` lacks stay. */
export function difference(wanted: Readonly<Record<string, unknown>>, record: object): ChangedSetting[] {
  return Object.entries(wanted).flatMap(([setting, to]) => {
    const from = (record as Record<string, unknown>)[setting] ?? unset(to)
    return hasSettings(from, to) ? [] : [{ setting, from, to }]
  })
}

/** The settings as a reader may see them. */
export function withoutSecrets(
  { hidden }: Pick<ProvisionItem, 'hidden'>,
  settings: readonly ChangedSetting[],
): ChangedSetting[] {
  const isHidden = (setting: string) => hidden.has(setting) || SECRET_SETTINGS.has(setting)
  return settings.map((change) => (isHidden(change.setting) ? { ...change, from: HIDDEN, to: HIDDEN } : change))
}

/** Records leave out what is not set. */
function unset(wanted: unknown): unknown {
  if (wanted === 0 || wanted === false || wanted === null) return wanted
  return Array.isArray(wanted) ? [] : null
}

/** Whether all of `wanted` is in `there`. Lists must be equal in length and order. */
export function hasSettings(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(there) && there.length === wanted.length && wanted.every((item, at) => hasSettings(there[at], item))
    )
  }
  if (typeof wanted !== 'object' || wanted === null) return there === wanted
  if (typeof there !== 'object' || there === null) return false
  return difference(wanted as Record<string, unknown>, there).length === 0
}
