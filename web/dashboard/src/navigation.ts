import type { IconName } from './parts/icon.tsx'
import { words } from './words/words.ts'

/** An entry of the navigation. */
export interface NavItem {
  readonly path: string
  readonly icon: IconName
  readonly text: string
}

export const NAV_ITEMS: readonly NavItem[] = [
  { path: '/', icon: 'overview', text: words.frame.overview },
  { path: '/streams', icon: 'streams', text: words.frame.streams },
  { path: '/tokens/publish', icon: 'tokens', text: words.frame.tokens },
  { path: '/channels', icon: 'channels', text: words.frame.channels },
  { path: '/recordings', icon: 'recordings', text: words.frame.recordings },
  { path: '/access', icon: 'access', text: words.frame.access },
  { path: '/analytics', icon: 'analytics', text: words.frame.analytics },
  { path: '/webhooks', icon: 'webhooks', text: words.frame.webhooks },
  { path: '/settings/security', icon: 'settings', text: words.frame.settings },
]

/** The path of the entry that a page belongs to: that with the same first part. */
export const navPathOf = (path: string): string =>
  NAV_ITEMS.find((item) => item.path.split('/')[1] === path.split('/')[1])?.path ?? ''

/** The page of the documentation about each part of the dashboard, below docs/. */
const HELP: Readonly<Record<string, string>> = {
  '': 'guides/dashboard',
  live: 'guides/browser',
  streams: 'guides/stream-health',
  tokens: 'guides/tokens',
  channels: 'reference/channels',
  recordings: 'reference/recordings',
  access: 'reference/errors',
  analytics: 'reference/analytics',
  webhooks: 'guides/webhook-receiver',
  settings: 'guides/production',
}

/** The address of the documentation about a page of the dashboard. */
export const helpAt = (path: string): string => documentAt(`${HELP[path.split('/')[1] ?? ''] ?? HELP['']}.md`)

/** The address of a document that the API names, such as `guides/obs.md#settings`. */
export const documentAt = (file: string): string => `../docs/${file.replace('.md', '.html')}`
