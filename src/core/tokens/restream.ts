import {
  isMasked,
  hasSecretUrl,
  maskedUrl,
  readTargetUrl,
  refuseKey,
  refuseTargetHost,
  shownKeyOf,
  HAS_NO_KEY,
  type TargetPolicy,
} from '../restream/targets.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import type { BodyReader } from '../validation/bodyReader.ts'
import { checkPlainText } from '../validation/text.ts'
import type { NewTarget, RestreamTarget, TargetKeys } from './types.ts'

interface Item {
  url: string
  key?: string | null
  label?: string | null
  enabled?: boolean | null
  transcode?: boolean | null
}

interface Body {
  restream?: readonly Item[] | null
  updateRestream?: readonly Item[] | null
}

/** The targets of a body; undefined when it has none. */
export function canonicalRestream(body: BodyReader<Body>, name: keyof Body): NewTarget[] | undefined {
  return body.names(name) ? canonicalTargets(body.items(name), body.problems) : undefined
}

/** Targets of a list, each with its path. */
export function canonicalTargets(items: readonly { at: string; item: Item }[], problems: Problems): NewTarget[] {
  const seen = new Set<string>()
  return items.map(({ at, item: { url: given, key: givenKey, label, enabled, transcode } }) => {
    checkItem(at, { url: given, key: givenKey ?? '' }, problems)
    // One with secrets in it is sealed like a key.
    const [url, key] = [maskedUrl(given), hasSecretUrl(given) ? given : (givenKey ?? '')]
    checkPlainText(`${at}.label`, label ?? undefined, problems)
    if (seen.size === seen.add(`${url} ${key}`).size) problems.add(at, 'is listed twice')
    return { url, key, label: label ?? '', enabled: enabled ?? true, transcode: transcode ?? false }
  })
}

function checkItem(at: string, { url, key }: Pick<NewTarget, 'url' | 'key'>, problems: Problems): void {
  const read = readTargetUrl(url)
  if (!read.ok) problems.add(`${at}.url`, read.error)
  const refusal = !hasSecretUrl(url) ? refuseKey(key) : key === '' ? null : HAS_NO_KEY
  if (refusal !== null) problems.add(`${at}.key`, refusal)
}

const NOT_KEPT = 'has the end of a key, of no target with this URL; send the whole key'

/** Targets as they are stored, and their keys apart from them. */
export interface SplitTargets<T = RestreamTarget> {
  readonly restream: readonly T[]
  readonly keys: TargetKeys
}

type Kept = Pick<RestreamTarget, 'url' | 'shownKey'>

/**
 * Parts targets from their keys. A key as records show it stands for that of the stored target with the same URL, so that
 * a client can send back what it has read.
 */
export function splitTargets<T extends Pick<NewTarget, 'url' | 'key'>>(
  targets: readonly T[],
  stored: readonly Kept[],
  problems: Problems,
): SplitTargets<Omit<T, 'key'> & Pick<Kept, 'shownKey'>> {
  const keys = targets.map(({ url, key }, at) => {
    if (!isMasked(key)) return { key }
    const kept = stored.findIndex((one) => one.url === url && one.shownKey === shownKeyOf(key))
    if (kept < 0) problems.add(`restream[${at}].${hasSecretUrl(url) ? 'url' : 'key'}`, NOT_KEPT)
    return { kept }
  })
  const shown = targets.map(({ key, ...target }) => ({
    ...target,
    shownKey: shownKeyOf(key),
  }))
  return { restream: shown, keys }
}

/** What is wrong with the hosts of targets; null: nothing. */
export function refuseTargets(targets: readonly RestreamTarget[], policy: TargetPolicy): FieldErrors | null {
  const problems = new Problems()
  for (const [at, { url }] of targets.entries()) {
    const refusal = refuseTargetHost(new URL(url), policy)
    if (refusal !== null) problems.add(`restream[${at}].url`, refusal)
  }
  const settled = problems.settle(null)
  return settled.ok ? null : settled.error
}
