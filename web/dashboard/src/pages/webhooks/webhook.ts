import type { Answer, listWebhooks } from '#api/tokens.ts'
import { words } from '../../words/words.ts'

export type Webhook = Answer<typeof listWebhooks>[number]

/** The switches of a webhook. `type` names the events in a test. */
export const KINDS = [
  { key: 'isFeedHooks', type: 'Feeds' },
  { key: 'isFeedHealthHooks', type: 'FeedHealth' },
  { key: 'isMediaHooks', type: 'Media' },
  { key: 'isThumbnailHooks', type: 'Thumbnail' },
  { key: 'isTranscoderHooks', type: 'Transcoder' },
  { key: 'isRestreamHooks', type: 'Restream' },
  { key: 'isViewerConnectionHooks', type: 'ViewerConnection' },
] as const

/** What a webhook receives, in words. */
export const kindsOf = (webhook: Webhook): string[] =>
  KINDS.filter(({ key }) => webhook[key]).map(({ key }) => words.webhooks.kinds[key].name)

/** The host of a webhook names it, beside others of the same host with the path; the whole URL is on its card. */
export function titleOf(webhook: Webhook, all: readonly Webhook[]): string {
  const host = hostOf(webhook)
  const isAlone = all.every((other) => other.id === webhook.id || hostOf(other) !== host)
  const { pathname, search } = isAlone || !URL.canParse(webhook.url) ? NO_PATH : new URL(webhook.url)
  return `${host}${pathname}${search}`
}

const NO_PATH = { pathname: '', search: '' }

/** The host alone. */
const hostOf = ({ url }: Pick<Webhook, 'url'>): string => (URL.canParse(url) ? new URL(url).host : url)
